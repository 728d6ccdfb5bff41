"""Read the right answers of a pack: the reference, and the files of `also_right`."""

from __future__ import annotations

import ast

from trainer.model.challenge import Challenge
from trainer.model.lesson import OtherAnswer
from trainer.packs.pack_reader import read_text, solution

REFERENCE = "reference"


def other_answers(challenge: Challenge) -> tuple[OtherAnswer, ...]:
    """Return the right answers of a challenge, the reference first.

    The first paragraph of a file's docstring says what the answer does differently, the second
    paragraph says what this costs.

    Raises:
        PackError: if a file cannot be read.
    """
    found = [OtherAnswer(REFERENCE, "", "", solution(challenge))]
    for path in sorted((challenge.solutions / "also_right").glob("*.py")):
        source = read_text(path)
        does, costs = _paragraphs(source)
        found.append(OtherAnswer(path.stem, does, costs, source))
    return tuple(found)


def _paragraphs(source: str) -> tuple[str, str]:
    """Return the first two paragraphs of a file's docstring, each on a single line."""
    try:
        docstring = ast.get_docstring(ast.parse(source)) or ""
    except SyntaxError:
        return "", ""
    paragraphs = [" ".join(part.split()) for part in docstring.split("\n\n")]
    return paragraphs[0], paragraphs[1] if len(paragraphs) > 1 else ""
