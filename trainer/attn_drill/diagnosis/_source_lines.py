"""Analyse the lines of a learner's file: functions, loops, and failures without values."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import torch

from attn_drill.diagnosis._value_graph import Node, ValueGraph, leading_to

Function = ast.FunctionDef | ast.AsyncFunctionDef


def lines_of_node(node: ast.expr | ast.stmt) -> range:
    """Return the lines of a statement or an expression. Decorators belong to their function."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    first = min([node.lineno, *(decorator.lineno for decorator in decorators)])
    return range(first, (node.end_lineno or node.lineno) + 1)


def function_around(tree: ast.AST, line: int) -> Function | None:
    """Return the innermost function that contains a line."""
    functions = [
        node
        for node in ast.walk(tree)
        if isinstance(node, Function) and line in lines_of_node(node)
    ]
    return max(functions, key=lambda node: node.lineno, default=None)


def function_lines(source: str, line: int) -> range:
    """Return the lines of the function that contains a line; only the line if no function does."""
    function = function_around(ast.parse(source), line)
    if function is None:
        return range(line, line + 1)
    return range(function.lineno, (function.end_lineno or line) + 1)


def function_name(source: str, line: int) -> str:
    """Return the name of the function that contains a line, or ""."""
    function = function_around(ast.parse(source), line)
    return "" if function is None else function.name


def gradient_cut_line(source: str, line: int) -> int:
    """Return the line of a decorator that disables gradients; the line itself if there is none."""
    function = function_around(ast.parse(source), line)
    for decorator in [] if function is None else function.decorator_list:
        text = ast.unparse(decorator)
        if "no_grad" in text or "inference_mode" in text:
            return decorator.lineno
    return line


def first_division(source: str, entry: str) -> int | None:
    """Return the line of the first division in a class; None if there is none.

    The constructor must check its sizes before this line.
    """
    classes = [node for node in ast.parse(source).body if isinstance(node, ast.ClassDef)]
    lines = [
        node.lineno
        for of_entry in classes
        if of_entry.name == entry
        for node in ast.walk(of_entry)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv | ast.Mod | ast.Div)
    ]
    return min(lines, default=None)


def uses_before(source: str, line: int) -> set[int]:
    """Return the lines of the same function before a line that use a variable of this line."""
    tree = ast.parse(source)
    function = function_around(tree, line) or tree
    names = [node for node in ast.walk(function) if isinstance(node, ast.Name)]
    bound = {name.id for name in names if isinstance(name.ctx, ast.Store)}
    here = {name.id for name in names if name.lineno == line}
    return {name.lineno for name in names if name.id in here & bound and name.lineno < line}


def line_of_layer(source: str, message: str) -> int | None:
    """Return the line that makes the first layer that a message names; None if none is found.

    >>> line_of_layer("self.q_proj = nn.Linear(8, 4)", "your module has attn.q_proj.bias [4]")
    1
    """
    lines = {
        target.attr: target.lineno
        for node in ast.walk(ast.parse(source))
        for target in (node.targets if isinstance(node, ast.Assign) else ())
        if isinstance(target, ast.Attribute)
    }
    layers = re.findall(r"(\w+)(?:\.weight|\.bias| \[)", message)
    return next((lines[layer] for layer in layers if layer in lines), None)


def gives_a_constant(source: str, call: int, line: int) -> bool:
    """Return whether the call at a line gives a constant to the function that contains a line."""
    tree = ast.parse(source)
    function = function_around(tree, line)
    for each_call in [] if function is None else _calls_of(tree, function, call):
        for value in (*each_call.args, *(keyword.value for keyword in each_call.keywords)):
            if isinstance(value.operand if isinstance(value, ast.UnaryOp) else value, ast.Constant):
                return True
    return False


def _calls_of(tree: ast.AST, function: Function, line: int) -> list[ast.Call]:
    """Return the calls of a function at a line. A module calls `forward` under any name."""
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and line in lines_of_node(node)
        and function.name in ("forward", ast.unparse(node.func).rpartition(".")[2])
    ]


# These are not counted, because one call may have many results.
_NOT_COUNTED = frozenset(
    "number return split split_with_sizes unsafe_split chunk unbind tensor_split".split()
)
_LOOPS = (ast.For, ast.While, ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp)
# Lines of the file, innermost first, and the operation.
Place = tuple[tuple[int, ...], str]


class Growth(NamedTuple):
    """The lines that run more often in a large case than in a small case."""

    # The first line that runs more often; None if there is none.
    line: int | None
    # Small count / large count of every place. The ratios show which size is looped over.
    ratios: frozenset[Fraction]


def growth(graphs: Sequence[ValueGraph]) -> Growth:
    """Compare how often each operation runs on each line in a small and in a large case.

    Args:
        graphs: the small and the large case; fewer if a case could not be recorded.
    """
    if len(graphs) != 2:
        return Growth(None, frozenset())
    before, after = map(_counts, graphs)
    grown = {
        place: Fraction(before[place], count)
        for place, count in after.items()
        if 0 < before[place] < count
    }
    if not grown:
        return Growth(None, frozenset())
    lines = next(iter(grown))[0]
    # If all operations inside a call run more often, the loop is around the call.
    while len(lines) > 1:
        callers = lines[1:]
        inside = [place for place in after if place[0][-len(callers) :] == callers]
        if not all(place in grown for place in inside):
            break
        lines = callers
    return Growth(lines[0], frozenset(grown.values()))


def _counts(graph: ValueGraph) -> Counter[Place]:
    return Counter(
        (node.lines, node.operation)
        for node in graph.nodes
        if node.lines and node.operation not in _NOT_COUNTED
    )


def innermost_loop(source: str, line: int) -> int:
    """Return the line of the innermost loop or comprehension around a line, or the line itself."""
    loops = [
        node.lineno
        for node in ast.walk(ast.parse(source))
        if isinstance(node, _LOOPS) and line in lines_of_node(node)
    ]
    return max(loops, default=line)


_RANDOM = frozenset("bernoulli bernoulli_ native_dropout dropout rand rand_like uniform_".split())
_MAXIMA = frozenset("amax max maximum".split())
_EXPANSIONS = frozenset("expand expand_as".split())


def blamed_line(
    graph: ValueGraph,
    check: str,
    limit: int | None = None,
    reference: ValueGraph | None = None,
) -> int | None:
    """Return the first line that does what a check forbids; None if there is none.

    For the check "memory", the limit is the number of entries that makes a tensor too large.
    """
    if check == "train/eval":
        return _line_of_draw(graph, reference)
    carrying = _carrying_values(graph) if check == "gradients" else set()
    for node in graph.computed:
        if not node.lines:
            continue
        match check:
            case "properties":
                is_forbidden = node.written is not None and not node.written.is_parameter
            case "gradients":
                # The maximum that is subtracted from all scores of a row needs no gradient.
                is_maximum = any(parent.operation in _MAXIMA for parent in node.parents)
                is_forbidden = node.is_cut and node in carrying and not is_maximum
            case "memory":
                is_large = limit is not None and node.entries >= limit
                is_forbidden = is_large and node.operation not in _EXPANSIONS
            case _:
                return None
        if is_forbidden:
            return node.line
    return None


def line_of_rounded_angle(graph: ValueGraph) -> int | None:
    """Return the line of the first value that is rounded before a sine or cosine is taken of it.

    A position or an angle of 1001 has no exact bfloat16. If the cast of the module to its dtype
    rounds a buffer, the line that made the buffer is returned. None if nothing is rounded.
    """
    for node in leading_to(node for node in graph.nodes if node.operation in ("cos", "sin")):
        before = node.parents[0] if len(node.parents) == 1 else node
        if node.value is None or before.value is None or before.value.dtype == node.value.dtype:
            continue
        is_low = node.value.dtype in (torch.bfloat16, torch.float16)
        if is_low and not torch.equal(node.value.double(), before.value.double()):
            return node.line or before.line or None
    return None


def _line_of_draw(graph: ValueGraph, reference: ValueGraph | None) -> int | None:
    """Return the line of the first random draw that the reference does not make.

    If the reference makes all of them, return the line of the first.
    """
    drawn = [node for node in graph.computed if node.lines and node.operation in _RANDOM]
    computed = () if reference is None else reference.computed
    right = Counter(node.entries for node in computed if node.operation in _RANDOM)
    others = []
    for node in drawn:
        right[node.entries] -= 1
        if right[node.entries] < 0:
            others.append(node)
    return min(others or drawn).line if drawn else None


def _carrying_values(graph: ValueGraph) -> set[Node]:
    """Return the nodes that are computed from the values of float inputs or parameters.

    A node that only copies the shape of a tensor (`zeros_like`) is not computed from its values.
    """
    carrying: set[Node] = set()
    for node in graph.nodes:
        is_new = node.operation.endswith("_like") or node.operation.startswith("new_")
        if is_new or (node.value is not None and not node.is_float):
            continue
        if node.is_input or not carrying.isdisjoint(node.parents):
            carrying.add(node)
    return carrying
