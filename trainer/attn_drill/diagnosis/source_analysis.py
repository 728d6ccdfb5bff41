"""Analyse the source of a learner's file: the functions around its lines."""

from __future__ import annotations

import ast

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
