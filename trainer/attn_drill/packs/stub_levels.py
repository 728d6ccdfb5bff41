"""Make three of the four levels of a stub from one text.

The level `guided` has comments with steps, `standard` has docstrings only, and `blank` has
signatures only. A comment on a separate line is a step: it describes the next result and, after
`->`, the shape or type of that result. `arrange.py` makes the level `arrange`, which has shuffled
lines of the reference.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from typing import Literal, get_args

Level = Literal["arrange", "guided", "standard", "blank"]
LEVELS: tuple[Level, ...] = get_args(Level)  # from most help to least
TextLevel = Literal["guided", "standard", "blank"]  # made from the text of `stub.py` alone


def at_level(stub: str, level: TextLevel) -> str:
    """Return the stub at this level.

    Args:
        stub: the text of `stub.py`, which is the guided level. It must compile.
        level: `guided` keeps the text, `standard` removes the steps, and `blank` removes steps
            and docstrings.
    """
    if level == "guided":
        return stub
    dropped = set(_step_lines(stub))
    if level == "blank":
        dropped |= _docstring_lines(stub)
    lines = [
        line
        for line_number, line in enumerate(stub.splitlines(keepends=True), start=1)
        if line_number not in dropped
    ]
    return _without_gaps("".join(lines))


def steps(stub: str) -> list[str]:
    """Return the steps of the guided level in order. A comment of several lines is one step."""
    lines = stub.splitlines()
    found: list[str] = []
    last = -1
    for line_number in _step_lines(stub):
        text = lines[line_number - 1].strip().removeprefix("#").strip()
        if line_number == last + 1 and not re.match(r"\d+\.", text):
            found[-1] += f" {text}"
        else:
            found.append(text)
        last = line_number
    return found


def _step_lines(stub: str) -> list[int]:
    """Return the numbers of the lines that contain only a comment."""
    tokens = tokenize.generate_tokens(io.StringIO(stub).readline)
    return [
        token.start[0]
        for token in tokens
        if token.type == tokenize.COMMENT and not token.line[: token.start[1]].strip()
    ]


def _docstring_lines(stub: str) -> set[int]:
    """Return the line numbers of all docstrings."""
    found: set[int] = set()
    for node in ast.walk(ast.parse(stub)):
        if (
            isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
            and ast.get_docstring(node) is not None
        ):
            found |= set(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    return found


def _without_gaps(text: str) -> str:
    """Remove empty lines at the beginning, and after the first line of a class."""
    return re.sub(r"(?m)^(class .*:\n)\n+", r"\1", text).lstrip("\n")
