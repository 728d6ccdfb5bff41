"""Cut `drive` out of a `cases.py`, with everything that `drive` needs to run and nothing else.

A worker process calls the learner's code through `drive`. A submission can read all memory of its
worker, so the rest of `cases.py` (cases, names of cases, comments) must not get into the worker.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from attn_drill.model.errors import PackError

ENTRY = "drive"


def drive_source(source: str, path: str) -> str:
    """Return source with `drive` and all that it needs of `cases.py`, without comments."""
    statements = list(ast.parse(source, path).body)
    makers: dict[str, list[int]] = {}
    for index, statement in enumerate(statements):
        for name in _bound(statement):
            makers.setdefault(name, []).append(index)
    if ENTRY not in makers:
        raise PackError(
            f"{path} defines no `{ENTRY}` at its top level. "
            f"Define `def {ENTRY}(implementation, given)`."
        )
    needed: set[int] = set()
    waiting = list(makers[ENTRY])
    while waiting:
        index = waiting.pop()
        if index in needed:
            continue
        needed.add(index)
        for node in ast.walk(statements[index]):
            if isinstance(node, ast.Name):  # global or local
                waiting += makers.get(node.id, [])
    kept = [_without_docstrings(statements[index]) for index in sorted(needed)]
    return ast.unparse(ast.Module(body=kept, type_ignores=[])) + "\n"


def _bound(statement: ast.stmt) -> Iterator[str]:
    """Yield the names that a top-level statement binds."""
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


def _without_docstrings(statement: ast.stmt) -> ast.stmt:
    for node in ast.walk(statement):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        if ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return statement
