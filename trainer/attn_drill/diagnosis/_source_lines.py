"""Analyse the lines of a learner's file: functions, loops, and failures without values."""

from __future__ import annotations

import ast
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

import torch

from attn_drill.diagnosis._value_graph import Node, ValueGraph, leading_to

_Function = ast.FunctionDef | ast.AsyncFunctionDef


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


def line_of_tuple(source: str, line: int) -> int:
    """Return the line that makes a tuple which the statement at a line returns by its name.

    Return the line itself if it returns no such tuple. A tuple leaves no trace in a run.
    """
    function = function_around(ast.parse(source), line)
    nodes = [] if function is None else list(ast.walk(function))
    returned = {
        name.id
        for node in nodes
        if isinstance(node, ast.Return) and node.lineno <= line <= (node.end_lineno or line)
        for name in ast.walk(node)
        if isinstance(name, ast.Name)
    }
    made = [
        node.lineno
        for node in nodes
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Tuple)
        and any(isinstance(target, ast.Name) and target.id in returned for target in node.targets)
    ]
    return max(made, default=line)


def first_division(source: str, entry: str) -> int | None:
    """Return the line of the first division in a class; None if there is none.

    The constructor must check its sizes before this line.

    Args:
        source: the text of the file.
        entry: the name of the class.
    """
    lines: list[int] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ClassDef) and node.name == entry:
            for inner in ast.walk(node):
                if isinstance(inner, ast.BinOp) and isinstance(
                    inner.op, ast.FloorDiv | ast.Mod | ast.Div
                ):
                    lines.append(inner.lineno)
            return min(lines, default=None)
    return None


def gives_a_constant(source: str, call: int, line: int) -> bool:
    """Return whether a call gives a constant to the function that contains a line.

    Args:
        source: the text of the file.
        call: the line of the call.
        line: a line of the called function.
    """
    tree = ast.parse(source)
    function = function_around(tree, line)
    if function is None:
        return False
    given = [
        value
        for found in _calls_of(tree, function, call)
        for value in (*found.args, *(keyword.value for keyword in found.keywords))
    ]
    return any(isinstance(_without_sign(value), ast.Constant) for value in given)


def _without_sign(value: ast.expr) -> ast.expr:
    return value.operand if isinstance(value, ast.UnaryOp) else value


def argument_of(tree: ast.AST, function: _Function, name: str, call: int) -> ast.expr | None:
    """Return the expression that the call at a line gives to an argument of a function."""
    names = [argument.arg for argument in function.args.args if argument.arg != "self"]
    for found in _calls_of(tree, function, call):
        given = dict(zip(names, found.args, strict=False))
        given |= {keyword.arg: keyword.value for keyword in found.keywords if keyword.arg}
        if name in given:
            return given[name]
    return None


def _calls_of(tree: ast.AST, function: _Function, line: int) -> list[ast.Call]:
    """Return the calls of a function at a line. A module calls `forward` under any name."""
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and node.lineno <= line <= (node.end_lineno or line)
        and function.name in ("forward", ast.unparse(node.func).rpartition(".")[2])
    ]


def function_around(tree: ast.AST, line: int) -> _Function | None:
    """Return the innermost function that contains a line. Decorators belong to the function."""
    around = []
    for node in ast.walk(tree):
        if isinstance(node, _Function):
            first = min([node.lineno, *(found.lineno for found in node.decorator_list)])
            if first <= line <= (node.end_lineno or line):
                around.append(node)
    return max(around, key=lambda node: node.lineno, default=None)


# These are not counted, because one call may have many results.
_NOT_COUNTED = frozenset(
    "number return split split_with_sizes unsafe_split chunk unbind tensor_split".split()
)
_LOOPS = (ast.For, ast.While, ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp)
Place = tuple[tuple[int, ...], str]  # lines of the file, innermost first, and the operation


@dataclass(frozen=True)
class Growth:
    """The lines that run more often in a large case than in a small case."""

    # The first line that runs more often; None if there is none.
    line: int | None
    # Small count / large count of every place. The ratios show which size is looped over.
    ratios: frozenset[Fraction]


def growth(small: ValueGraph, large: ValueGraph) -> Growth:
    """Compare how often each operation runs on each line in a small and in a large case."""
    before, after = _counts(small), _counts(large)
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
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return line
    loops = [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, _LOOPS) and node.lineno <= line <= (node.end_lineno or node.lineno)
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

    Args:
        check: "properties", "gradients", "train/eval" or "memory".
        limit: the number of entries that makes a tensor too large, for "memory".
        reference: the graph of the reference, for "train/eval". A random draw that the reference
            makes too is right, so another draw is to blame.
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

    Args:
        graph: of the submission, recorded in a case in bfloat16.
    """
    angles = set(leading_to(node for node in graph.nodes if node.operation in ("cos", "sin")))
    for node in graph.nodes:
        if node not in angles or node.value is None or len(node.parents) != 1:
            continue
        (parent,) = node.parents
        before = parent.value
        is_low = node.value.dtype in (torch.bfloat16, torch.float16)
        if not is_low or before is None or before.dtype == node.value.dtype:
            continue
        if bool((node.value.to(torch.float64) != before.to(torch.float64)).any()):
            lines = node.lines or parent.lines
            return lines[0] if lines else None
    return None


def _line_of_draw(graph: ValueGraph, reference: ValueGraph | None) -> int | None:
    """Return the line of the first random draw that the reference does not make.

    If the reference makes all of them, return the line of the first.
    """
    drawn = [node for node in graph.computed if node.lines and node.operation in _RANDOM]
    computed = () if reference is None else reference.computed
    right = [node.entries for node in computed if node.operation in _RANDOM]
    others = []
    for node in drawn:
        if node.entries in right:
            right.remove(node.entries)
        else:
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
