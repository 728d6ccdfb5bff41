"""The three levels of a stub, made from one text: with its steps, as it is handed out, and with its signatures alone.

A comment on a line of its own is a step of the guided level: what to make next and, after `->`, its shape or type.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from typing import Literal, get_args

Level = Literal["guided", "standard", "blank"]
LEVELS: tuple[Level, ...] = get_args(Level)


def at_level(stub: str, level: Level) -> str:
    """The stub at this level.

    Args:
        stub: the text of `stub.py`, which is the guided level. It compiles.
        level: `guided` as it is, `standard` without the steps, `blank` without the docstrings too.
    """
    if level == "guided":
        return stub
    dropped = set(_step_lines(stub))
    if level == "blank":
        dropped |= _docstring_lines(stub)
    lines = [
        line
        for number, line in enumerate(stub.splitlines(keepends=True), start=1)
        if number not in dropped
    ]
    return _without_gaps("".join(lines))


def steps(stub: str) -> list[str]:
    """The steps of the guided level, in order; a comment of several lines is one step."""
    lines = stub.splitlines()
    found: list[str] = []
    last = -1
    for number in _step_lines(stub):
        text = lines[number - 1].strip().removeprefix("#").strip()
        if number == last + 1 and not re.match(r"\d+\.", text):
            found[-1] += f" {text}"
        else:
            found.append(text)
        last = number
    return found


def _step_lines(stub: str) -> list[int]:
    """The lines that hold a comment and nothing else."""
    tokens = tokenize.generate_tokens(io.StringIO(stub).readline)
    return [
        token.start[0]
        for token in tokens
        if token.type == tokenize.COMMENT and not token.line[: token.start[1]].strip()
    ]


def _docstring_lines(stub: str) -> set[int]:
    """The lines of all docstrings."""
    found: set[int] = set()
    for node in ast.walk(ast.parse(stub)):
        if (
            isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
            and ast.get_docstring(node) is not None
        ):
            found |= set(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    return found


def _without_gaps(text: str) -> str:
    """Without empty lines at the beginning, and after the colon that opens a class."""
    return re.sub(r"(?m)^(class .*:\n)\n+", r"\1", text).lstrip("\n")
