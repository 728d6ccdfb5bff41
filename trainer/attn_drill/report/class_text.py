"""Words for the results of a class, the table of a pack's checks, and the progress of long work."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, TextIO

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from attn_drill.classroom.records import StudentResult
from attn_drill.model.checks import CHECK_ORDER, Verdict
from attn_drill.model.words import plural
from attn_drill.packs.content_check import Row
from attn_drill.report.code_text import console
from attn_drill.report.wording import VERDICT_WORDS, visible

# A symbol and words for each verdict. None stands for a grading that failed.
VERDICTS: dict[Verdict | None, tuple[str, str]] = {
    "passed": ("✓", VERDICT_WORDS["passed"]),
    "failed": ("✗", VERDICT_WORDS["failed"]),
    "error": ("!", VERDICT_WORDS["error"]),
    "timeout": ("◷", VERDICT_WORDS["timeout"]),
    "memory": ("▤", VERDICT_WORDS["memory"]),
    "not-allowed": ("⊘", VERDICT_WORDS["not-allowed"]),
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


def mistakes_table(rows: Sequence[Row]) -> str:
    """Return a Markdown table with a row for each mistake, and a column for each check."""
    mistakes = [row for row in rows if row.kind == "mistake"]
    used = [check for check in CHECK_ORDER if any(check in row.refused_by for row in mistakes)]
    if not mistakes:
        return "No mistakes were graded."
    table = [["challenge", "mistake", *used]]
    for row in mistakes:
        # The diagnosis must name a mistake that a check refuses.
        fault = "NOT NAMED" if row.refused_by else "NOT REFUSED"
        name = row.name if row.ok else f"{row.name} ({fault})"
        marks = ["x" if check in row.refused_by else "" for check in used]
        table.append([row.challenge, name, *marks])
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines: list[str] = []
    for cells in table:
        padded = [cell.ljust(width) for cell, width in zip(cells, widths, strict=True)]
        lines.append(f"| {' | '.join(padded)} |")
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines)


class CountedProgress(Progress):
    """A bar, the count of items, the time left, and a few words; in a file, the last state only."""

    def __init__(self, total: int, stream: TextIO, done: int = 0, **options: Any) -> None:
        words = TextColumn("{task.description}", markup=False)
        columns = BarColumn(bar_width=12), MofNCompleteColumn(), TimeRemainingColumn(), words
        super().__init__(*columns, console=console(stream), **options)
        self._items = self.add_task("", total=total, completed=done)

    def count(self, words: str) -> None:
        """Count one more item and show the words."""
        self.update(self._items, advance=1, description=words)


def in_counts(verdicts: Counter[str | None]) -> str:
    """Return counts of verdicts in the usual order.

    >>> in_counts(Counter(["failed", "passed", "passed"]))
    '2 passed, 1 failed'
    """
    return ", ".join(
        f"{verdicts[name]} {words}" for name, (_, words) in VERDICTS.items() if verdicts[name]
    )


def summary(results: Sequence[StudentResult]) -> tuple[str, int]:
    """Return a few lines about the results of a class, and the number of failed gradings."""
    verdicts: Counter[str | None] = Counter(result.verdict for result in results)
    text = f"{len(results)} results: {in_counts(verdicts)}"
    # A student's file may be for several challenges.
    ungraded = {(result.student, result.file) for result in results if result.is_ungraded}
    if ungraded:
        files = plural(len(ungraded), "file")
        students = plural(len({student for student, _ in ungraded}), "student")
        were = "was" if len(ungraded) == 1 else "were"
        settle = "not graded: a person must settle this; the report says why."
        text += f"\n{files} of {students} {were} {settle}"
    return text, sum(result.verdict is None and not result.is_ungraded for result in results)
