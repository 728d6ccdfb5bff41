"""Words for the results of a class, and the text of students made harmless: nothing of it is lost, nothing of it acts."""

from __future__ import annotations

import re
import unicodedata

from trainer.classroom.words import Result
from trainer.core.words import Verdict

# A symbol and a word for each verdict; None is for a grading that failed.
VERDICTS: dict[Verdict | None, tuple[str, str]] = {
    "passed": ("✓", "passed"),
    "failed": ("✗", "failed"),
    "error": ("!", "error"),
    "timeout": ("◷", "time limit"),
    "memory": ("▤", "out of memory"),
    "not-allowed": ("⊘", "not allowed"),
    None: ("?", "not graded"),
}

_SUSPECT = re.compile(r"[^ -~]")
_SUSPECT_BUT_LINES = re.compile(r"[^ -~\n\t]")
_JOINERS = "\u200c\u200d"  # names in Persian and in Indic scripts are spelt with them


def visible(text: str, *, lines: bool = False) -> str:
    r"""The text with every character that acts instead of being seen as its escape: `\x1b`, `\u202e`, `\n`.

    Two names that differ stay different, unlike with `plain`, and a lone surrogate of a file name can be written.
    `lines`: line ends and tabs stay as they are.
    """
    if lines:
        text = text.replace("\r\n", "\n")
    return (_SUSPECT_BUT_LINES if lines else _SUSPECT).sub(lambda found: _seen(found[0]), text)


def _seen(character: str) -> str:
    if character.isprintable() or character in _JOINERS or unicodedata.category(character) == "Zs":
        return character
    return character.encode("unicode_escape").decode("ascii")


def likely(result: Result) -> str:
    """The ids of the likely mistakes, `no-scale+mask-inverted`; "" where none was named."""
    return "+".join(one.id for one in result.diagnosis.mistakes) if result.diagnosis else ""


def checks_passed(result: Result) -> tuple[int, int]:
    """How many checks passed, and how many were due."""
    statuses = result.statuses()
    return sum(status == "passed" for status in statuses.values()), len(statuses)


def points(score: float) -> str:
    """A score of 0 to 100 with at most two decimals: `66.67`, `100`."""
    return f"{score:.2f}".rstrip("0").rstrip(".")
