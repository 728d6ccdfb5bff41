"""Words for the results of a class."""

from __future__ import annotations

from attn_drill.classroom.records import StudentResult
from attn_drill.model.checks import Verdict
from attn_drill.report.words import VERDICT_WORDS, visible

_SYMBOLS: dict[Verdict, str] = {
    "passed": "✓",
    "failed": "✗",
    "error": "!",
    "timeout": "◷",
    "memory": "▤",
    "not-allowed": "⊘",
}
# A symbol and words for each verdict. None stands for a grading that failed.
VERDICTS: dict[Verdict | None, tuple[str, str]] = {
    **{verdict: (symbol, VERDICT_WORDS[verdict]) for verdict, symbol in _SYMBOLS.items()},
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
    """Return a score of 0 to 100 with at most two decimals.

    >>> [points(score) for score in (200 / 3, 100.0, 50.5, 0.0)]
    ['66.67', '100', '50.5', '0']
    """
    return f"{score:.2f}".rstrip("0").rstrip(".")


def messages(result: StudentResult, check: str) -> str:
    """Return the messages of all cases that failed a check, one case a line."""
    return "\n".join(
        visible(f"{outcome.case}: {outcome.message}" if outcome.case else outcome.message)
        for outcome in result.outcomes
        if outcome.check == check and outcome.status == "failed"
    )
