"""Words for the results of a class.

Attributes:
    VERDICTS: a symbol and a word for each verdict; None is the key for a grading that failed.
"""

from __future__ import annotations

from trainer.classroom.records import StudentResult
from trainer.model.checks import Verdict

VERDICTS: dict[Verdict | None, tuple[str, str]] = {
    "passed": ("✓", "passed"),
    "failed": ("✗", "failed"),
    "error": ("!", "error"),
    "timeout": ("◷", "time limit"),
    "memory": ("▤", "out of memory"),
    "not-allowed": ("⊘", "not allowed"),
    None: ("?", "not graded"),
}


def likely(result: StudentResult) -> str:
    """Return the ids of the likely mistakes, e.g. `no-scale+mask-inverted`, or ""."""
    return "+".join(mistake.id for mistake in result.mistakes)


def checks_passed(result: StudentResult) -> tuple[int, int]:
    """Return how many checks passed, and how many were due."""
    statuses = result.statuses()
    return sum(status == "passed" for status in statuses.values()), len(statuses)


def points(score: float) -> str:
    """Return a score of 0 to 100 with at most two decimals: `66.67`, `100`."""
    return f"{score:.2f}".rstrip("0").rstrip(".")
