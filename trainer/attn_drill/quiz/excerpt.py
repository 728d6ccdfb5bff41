"""Cut a reference to the functions and methods that a question is about."""

from __future__ import annotations

import ast
from collections.abc import Collection

# The longest text that is shown whole, so that it fits a small terminal.
_MOST_LINES = 26


def excerpt(source: str, lines: Collection[int]) -> list[int]:
    """Return the line numbers to show, 0 for an empty line: the functions with these lines."""
    # If the code is short, or a line is in no function, all code from the first function or that
    # line is shown.
    defined = [
        node for node in ast.parse(source).body if isinstance(node, ast.ClassDef | ast.FunctionDef)
    ]
    first = min([*lines, _lines_of(defined[0]).start if defined else 1])
    whole = list(range(first, len(source.splitlines()) + 1))
    if len(whole) <= _MOST_LINES:
        return whole
    shown: list[int] = []
    for node in defined:
        is_class = isinstance(node, ast.ClassDef)
        members = node.body if is_class else [node]
        parts = [_lines_of(part) for part in members if isinstance(part, ast.FunctionDef)]
        wanted = [part for part in parts if set(part) & set(lines)]
        if is_class and wanted:  # the head of a class stands above its methods
            has_docstring = ast.get_docstring(node) is not None
            end = (node.body[0].end_lineno or 0) if has_docstring else node.lineno
            wanted = [range(_lines_of(node).start, end + 1), *wanted]
        for part in wanted:
            shown += [*part, 0]
    return shown[:-1] if set(lines) <= set(shown) else whole


def _lines_of(node: ast.ClassDef | ast.FunctionDef) -> range:
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    return range(first, (node.end_lineno or node.lineno) + 1)
