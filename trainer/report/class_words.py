"""Words for the results of a class."""

from __future__ import annotations

from trainer.classroom.records import StudentResult
from trainer.model.checks import Verdict

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


def likely(result: StudentResult) -> str:
    """The ids of the likely mistakes, `no-scale+mask-inverted`; "" where none was named."""
    return "+".join(mistake.id for mistake in result.mistakes)


def checks_passed(result: StudentResult) -> tuple[int, int]:
    """How many checks passed, and how many were due."""
    statuses = result.statuses()
    return sum(status == "passed" for status in statuses.values()), len(statuses)


def points(score: float) -> str:
    """A score of 0 to 100 with at most two decimals: `66.67`, `100`."""
    return f"{score:.2f}".rstrip("0").rstrip(".")
