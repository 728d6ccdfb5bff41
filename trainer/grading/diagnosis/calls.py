"""Which functions a file has, from where they are called, and with what: read from its text, never run."""

from __future__ import annotations

import ast
from collections.abc import Collection

_Function = ast.FunctionDef | ast.AsyncFunctionDef


def is_called_from_several_places(source: str, line: int) -> bool:
    """Whether the function that this line is in is named in several places; a method that Python or torch calls may always be."""
    tree = ast.parse(source)
    function = _around(tree, line)
    if function is None:
        return False
    name = function.name
    named = sum(
        name in (getattr(one, "id", None), getattr(one, "attr", None)) for one in ast.walk(tree)
    )
    return named > 1 or name == "forward" or name.startswith("__")


def is_told_a_constant(source: str, line: int, call: int) -> bool:
    """Whether the statement at a line reads an argument for which the call at another line gives a constant, as `dim=-1`."""
    tree = ast.parse(source)
    function = _around(tree, line)
    if function is None:
        return False
    inside = [
        one
        for one in ast.walk(function)
        if isinstance(one, ast.stmt)
        and one is not function
        and one.lineno <= line <= (one.end_lineno or line)
    ]
    if not inside:
        return False
    statement = max(inside, key=lambda one: one.lineno)
    read = {one.id for one in ast.walk(statement) if isinstance(one, ast.Name)}
    names = [one.arg for one in function.args.args]
    names = names[1:] if names[:1] == ["self"] else names
    for one in ast.walk(tree):
        if (
            isinstance(one, ast.Call)
            and one.lineno <= call <= (one.end_lineno or call)
            and function.name in (getattr(one.func, "id", None), getattr(one.func, "attr", None))
        ):
            given = [
                *zip(names, one.args, strict=False),
                *((keyword.arg, keyword.value) for keyword in one.keywords),
            ]
            if any(name in read and _is_constant(value) for name, value in given):
                return True
    return False


def function_around(source: str, line: int) -> range:
    """The lines of the function that this line is in; the line alone where it is in none."""
    function = _around(ast.parse(source), line)
    return (
        range(line, line + 1)
        if function is None
        else range(function.lineno, (function.end_lineno or line) + 1)
    )


def branch_not_taken(
    source: str, start: int, end: int, visited: Collection[int], names: Collection[str]
) -> int | None:
    """The first `if` between two lines of a function that was not entered and would have bound one of these names."""
    function = _around(ast.parse(source), start)
    if function is None or end not in range(start, (function.end_lineno or start) + 1):
        return None
    branches = [
        one for one in ast.walk(function) if isinstance(one, ast.If) and start < one.lineno <= end
    ]
    for one in sorted(branches, key=lambda branch: branch.lineno):
        body = range(one.body[0].lineno, (one.body[-1].end_lineno or 0) + 1)
        bound = {
            node.id
            for part in one.body
            for node in ast.walk(part)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
        if not any(line in visited for line in body) and bound & set(names):
            return one.lineno
    return None


def where_gradients_are_cut(source: str, line: int) -> int:
    """The decorator that turns gradients off in the function that this line is in; the line itself where there is none."""
    function = _around(ast.parse(source), line)
    decorators = [] if function is None else function.decorator_list
    return next(
        (
            one.lineno
            for one in decorators
            if any(words in ast.unparse(one) for words in ("no_grad", "inference_mode"))
        ),
        line,
    )


def _around(tree: ast.AST, line: int) -> _Function | None:
    """The innermost function with this line in it."""
    around = [
        one
        for one in ast.walk(tree)
        if isinstance(one, _Function) and _first_line(one) <= line <= (one.end_lineno or line)
    ]
    return max(around, key=lambda one: one.lineno, default=None)


def _is_constant(value: ast.expr) -> bool:
    """Whether it is written out: a number, a word, -1, torch.bfloat16."""
    value = value.operand if isinstance(value, ast.UnaryOp) else value
    return isinstance(value, ast.Constant) or (
        isinstance(value, ast.Attribute)
        and isinstance(value.value, ast.Name)
        and value.value.id == "torch"
    )


def _first_line(function: _Function) -> int:
    """With its decorators."""
    return min([function.lineno, *(one.lineno for one in function.decorator_list)])
