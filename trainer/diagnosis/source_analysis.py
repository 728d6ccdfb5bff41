"""Analyse the source of a learner's file: its functions, their calls and branches."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from dataclasses import dataclass

_Function = ast.FunctionDef | ast.AsyncFunctionDef


def is_called_from_several_places(source: str, line: int) -> bool:
    """Return whether the function that contains a line may be called from several places.

    This is true for `forward` and for dunder methods, which torch and Python may call at any time.
    """
    tree = ast.parse(source)
    function = _function_around(tree, line)
    if function is None:
        return False
    if function.name == "forward" or function.name.startswith("__"):
        return True
    return sum(_is_named(node, function.name) for node in ast.walk(tree)) > 1


def _is_named(node: ast.AST, name: str) -> bool:
    return name in (getattr(node, "id", None), getattr(node, "attr", None))


def is_given_a_constant(source: str, line: int, call: int) -> bool:
    """Return whether a line reads an argument for which a call passes a constant.

    An example is `softmax(scores, axis)` in a function that is called with `axis=-1`.

    Args:
        source: the text of the file.
        line: a line inside the called function.
        call: the line of the call.
    """
    tree = ast.parse(source)
    function = _function_around(tree, line)
    if function is None:
        return False
    read = _names_read_at(function, line)
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not _is_named(node.func, function.name):
            continue
        if not node.lineno <= call <= (node.end_lineno or call):
            continue
        for name, value in _arguments(function, node):
            if name in read and _is_constant(value):
                return True
    return False


def names_read_at(source: str, line: int) -> set[str]:
    """Return the names in the innermost statement that contains a line."""
    function = _function_around(ast.parse(source), line)
    return set() if function is None else _names_read_at(function, line)


def _names_read_at(function: _Function, line: int) -> set[str]:
    """Return the names in the innermost statement that contains a line of a function."""
    around = [
        node
        for node in ast.walk(function)
        if isinstance(node, ast.stmt)
        and node is not function
        and node.lineno <= line <= (node.end_lineno or line)
    ]
    if not around:
        return set()
    statement = max(around, key=lambda node: node.lineno)
    return {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}


def _arguments(function: _Function, call: ast.Call) -> Iterator[tuple[str | None, ast.expr]]:
    """Yield the arguments of a call with their names in the function."""
    names = [argument.arg for argument in function.args.args]
    if names[:1] == ["self"]:
        names = names[1:]
    yield from zip(names, call.args, strict=False)
    for keyword in call.keywords:
        yield keyword.arg, keyword.value


def _is_constant(value: ast.expr) -> bool:
    """Return whether a value is a constant, for example a number, a string or torch.bfloat16."""
    if isinstance(value, ast.UnaryOp):
        value = value.operand
    if isinstance(value, ast.Attribute) and isinstance(value.value, ast.Name):
        return value.value.id == "torch"
    return isinstance(value, ast.Constant)


def function_lines(source: str, line: int) -> range:
    """Return the lines of the function that contains a line; only the line if no function does."""
    function = _function_around(ast.parse(source), line)
    if function is None:
        return range(line, line + 1)
    return range(function.lineno, (function.end_lineno or line) + 1)


def function_name(source: str, line: int) -> str:
    """Return the name of the function that contains a line, or ""."""
    function = _function_around(ast.parse(source), line)
    return "" if function is None else function.name


@dataclass(frozen=True)
class Branch:
    """An `if`: its line, and the lines of its branch."""

    line: int
    body: range


def branch_not_taken(
    source: str, start: int, end: int, visited: Collection[int], names: Collection[str]
) -> Branch | None:
    """Return the first `if` whose branch did not run but would have bound a name.

    Args:
        source: the text of the file.
        start: the `if` is after this line of a function.
        end: the `if` is at or before this line of the same function.
        visited: the lines that ran.
        names: the branch must bind at least one of these names.
    """
    function = _function_around(ast.parse(source), start)
    if function is None or not start <= end <= (function.end_lineno or start):
        return None
    branches = [node for node in ast.walk(function) if isinstance(node, ast.If)]
    for branch in sorted(branches, key=lambda branch: branch.lineno):
        if not start < branch.lineno <= end:
            continue
        body = range(branch.body[0].lineno, (branch.body[-1].end_lineno or 0) + 1)
        if not any(line in visited for line in body) and _bound_in(branch) & set(names):
            return Branch(branch.lineno, body)
    return None


def collecting_line(source: str, line: int, name: str) -> int | None:
    """Return the line at which a function puts a variable into a tuple, a list or a dict.

    Args:
        source: the text of the file.
        line: a line of the function; the variable is collected later.
        name: the variable; "" for none.
    """
    function = _function_around(ast.parse(source), line) if name else None
    collected = []
    for node in [] if function is None else ast.walk(function):
        if isinstance(node, ast.Tuple | ast.List) and isinstance(node.ctx, ast.Load):
            collected += node.elts
        elif isinstance(node, ast.Dict):
            collected += node.values
    lines = [part.lineno for part in collected if isinstance(part, ast.Name) and part.id == name]
    return min((found for found in lines if found > line), default=None)


def _bound_in(branch: ast.If) -> set[str]:
    found: set[str] = set()
    for statement in branch.body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                found.add(node.id)
    return found


def gradient_cut_line(source: str, line: int) -> int:
    """Return the line of a decorator that disables gradients; the line itself if there is none."""
    function = _function_around(ast.parse(source), line)
    for decorator in [] if function is None else function.decorator_list:
        text = ast.unparse(decorator)
        if "no_grad" in text or "inference_mode" in text:
            return decorator.lineno
    return line


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


def _function_around(tree: ast.AST, line: int) -> _Function | None:
    """Return the innermost function that contains a line. Decorators belong to the function."""
    around = []
    for node in ast.walk(tree):
        if isinstance(node, _Function):
            first = min([node.lineno, *(found.lineno for found in node.decorator_list)])
            if first <= line <= (node.end_lineno or line):
                around.append(node)
    return max(around, key=lambda node: node.lineno, default=None)
