"""Find the line of a mistake that changes which lines run, and not what they compute.

Such a mistake is in the condition of a branch or in the head of a loop. No line makes a wrong
value: a line that should run does not run, or runs too often.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence

from attn_drill.diagnosis.loops import innermost_loop
from attn_drill.diagnosis.source_analysis import argument_of, function_around
from attn_drill.diagnosis.value_graph import Node, ValueGraph, leading_to

_Branch = ast.If | ast.IfExp | ast.While
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def line_of_condition(
    wrong_source: str, patched: Collection[int], source: str, graph: ValueGraph, wrong: Node
) -> int | None:
    """Return the line of a file that decides which lines run; None if the mistake is none of these.

    Args:
        wrong_source: the reference with the mistake.
        patched: its lines that the mistake changed.
        source: the text of the file, whose graph and first wrong value follow.
    """
    conditions, loops = set[int](), set[int]()
    for node in ast.walk(ast.parse(wrong_source)):
        if isinstance(node, _Branch):
            conditions.update(_lines(node.test))
        elif isinstance(node, ast.For):
            loops.update(_lines(node.iter))
    if loops.issuperset(patched):
        return _loop_around(source, wrong)
    if conditions.issuperset(patched):
        visited = {line for node in graph.nodes for line in node.lines}
        return _line_that_skips(source, wrong.lines, visited)
    return None


def _lines(*nodes: ast.expr | ast.stmt) -> range:
    return range(nodes[0].lineno, (nodes[-1].end_lineno or nodes[-1].lineno) + 1)


def _loop_around(source: str, wrong: Node) -> int | None:
    """Return the line of the loop around a wrong value, or around the line before it."""
    before = [node.line for node in leading_to([wrong]) if node.lines and node.line != wrong.line]
    for line in (wrong.line, *before[-1:]):
        if (loop := innermost_loop(source, line)) != line:
            return loop
    return None


def _line_that_skips(source: str, calls: Sequence[int], visited: set[int]) -> int | None:
    """Return the line that decides that a block before a wrong value does not run.

    The block sets a variable that the line of the wrong value, or a line that calls it, reads.

    Args:
        calls: the lines of the wrong value, innermost first.
        visited: the lines of the file that made a result.
    """
    tree = ast.parse(source)
    for depth, line in enumerate(calls):
        function = function_around(tree, line)
        if function is None:
            continue
        names = _names_read(function, line)
        skipping: ast.If | None = None
        for branch in ast.walk(function):
            if not isinstance(branch, ast.If) or branch.lineno >= line:
                continue
            blocks = [_lines(*block) for block in (branch.body, branch.orelse) if block]
            is_skipped = any(map(visited.isdisjoint, blocks))  # a block made no result
            if is_skipped and not names.isdisjoint(_names(branch, ast.Store)):
                skipping = branch
        if skipping is not None:
            return _line_that_decides(tree, skipping, calls[depth:])
    return None


def _names_read(function: _Function, line: int) -> set[str]:
    """Return the names that the innermost statement at a line reads."""
    statements = [
        node for node in ast.walk(function) if isinstance(node, ast.stmt) and line in _lines(node)
    ]
    return _names(max(statements, key=lambda node: node.lineno, default=function), ast.expr_context)


def _names(node: ast.AST, context: type[ast.expr_context]) -> set[str]:
    return {
        name.id
        for name in ast.walk(node)
        if isinstance(name, ast.Name) and isinstance(name.ctx, context)
    }


def _line_that_decides(tree: ast.AST, branch: ast.If, calls: Sequence[int]) -> int:
    """Return the line of a branch, or the line that sets the only variable that it tests.

    The variable may be an argument. Then the search goes on in the function that calls.
    """
    line, name = branch.lineno, _tested(branch.test)
    for call, outer in zip(calls, (*calls[1:], None), strict=True):
        function = function_around(tree, call)
        while name and function and (found := _assignment(function, name, line)) is not None:
            line, name = found.lineno, _tested(found.value)
        if name is None or function is None or outer is None:
            break
        given = argument_of(tree, function, name, outer)
        if given is None:
            break
        line, name = outer, _tested(given)
    return line


def _tested(test: ast.expr) -> str | None:
    """Return the variable in a condition `x`, `not x` or `x is None`; None for all others."""
    match test:
        case ast.Name(name) | ast.Compare(ast.Name(name), [ast.Is() | ast.IsNot()]):
            return name
        case ast.UnaryOp(ast.Not(), operand):
            return _tested(operand)
    return None


def _assignment(function: _Function, name: str, before: int) -> ast.Assign | None:
    """Return the last assignment to a variable before a line."""
    found = [
        node
        for node in ast.walk(function)
        if isinstance(node, ast.Assign)
        and node.lineno < before
        and any(isinstance(target, ast.Name) and target.id == name for target in node.targets)
    ]
    return max(found, key=lambda node: node.lineno, default=None)
