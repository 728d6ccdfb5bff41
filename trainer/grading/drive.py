"""Cut `drive` out of a cases.py, with all that it needs to run and nothing else.

A worker calls the learner's code through `drive`. Everything else of a cases.py (its cases, their names, its comments)
is the grader's alone: a submission can read all memory of its worker.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trainer.model.errors import PackError

ENTRY = "drive"


def drive_source(source: str, path: str) -> str:
    """Return Python source that defines `drive` and, of the file's top level, the statements whose names it uses.

    Comments and docstrings are left out.

    Raises:
        PackError: if the file does not define `drive` at its top level.
    """
    statements = list(ast.parse(source, path).body)
    makers: dict[str, list[int]] = {}
    for index, statement in enumerate(statements):
        for name in _bound(statement):
            makers.setdefault(name, []).append(index)
    if ENTRY not in makers:
        raise PackError(
            f"{path} defines no `{ENTRY}` at its top level. Define `def {ENTRY}(implementation, given)`."
        )
    needed: set[int] = set()
    waiting = list(makers[ENTRY])
    while waiting:
        index = waiting.pop()
        if index not in needed:
            needed.add(index)
            waiting += [
                maker for name in _used(statements[index]) for maker in makers.get(name, [])
            ]
    kept = [_without_docstrings(statements[index]) for index in sorted(needed)]
    return ast.unparse(ast.Module(body=kept, type_ignores=[])) + "\n"


def _bound(statement: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement of the top level binds."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield statement.name
        return
    for node in ast.walk(statement):
        if isinstance(node, ast.alias):
            yield (node.asname or node.name).partition(".")[0]
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name


def _used(statement: ast.stmt) -> set[str]:
    """Return all names that a statement mentions, whether they are global or not."""
    return {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}


def _without_docstrings(statement: ast.stmt) -> ast.stmt:
    for node in ast.walk(statement):
        if (
            isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            and ast.get_docstring(node, clean=False) is not None
        ):
            node.body = node.body[1:] or [ast.Pass()]
    return statement
