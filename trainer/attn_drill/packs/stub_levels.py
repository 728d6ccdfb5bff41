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
    """Return the stub at this level. The text of `stub.py`, the guided level, must compile."""
    if level == "guided":
        return stub
    dropped = set(_step_lines(stub))
    if level == "blank":
        for node in ast.walk(ast.parse(stub)):
            if (
                isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
                and ast.get_docstring(node) is not None
            ):
                docstring = node.body[0]
                dropped |= set(range(docstring.lineno, (docstring.end_lineno or 0) + 1))
    lines = enumerate(stub.splitlines(keepends=True), start=1)
    text = "".join(line for number, line in lines if number not in dropped)
    # No empty lines at the beginning, and after the first line of a class.
    return re.sub(r"(?m)^(class .*:\n)\n+", r"\1", text).lstrip("\n")


def steps(stub: str) -> list[str]:
    """Return the steps of the guided level in order. A comment of several lines is one step."""
    lines = stub.splitlines()
    texts: list[str] = []
    last = -1
    for number in _step_lines(stub):
        text = lines[number - 1].strip().removeprefix("#").strip()
        if number == last + 1 and not re.match(r"\d+\.", text):
            texts[-1] += f" {text}"
        else:
            texts.append(text)
        last = number
    return texts


def _step_lines(stub: str) -> list[int]:
    """Return the numbers of the lines that contain only a comment."""
    tokens = tokenize.generate_tokens(io.StringIO(stub).readline)
    return [
        token.start[0]
        for token in tokens
        if token.type == tokenize.COMMENT and not token.line[: token.start[1]].strip()
    ]
