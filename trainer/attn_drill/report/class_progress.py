"""The progress of many gradings, and a summary of a class's results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, TextIO

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from attn_drill.classroom.records import StudentResult
from attn_drill.model.quantities import plural
from attn_drill.report.class_words import VERDICTS
from attn_drill.report.literal import console


class CountedProgress(Progress):
    """A bar, the count of items, the time left, and a few words; in a file, the last state only."""

    def __init__(self, total: int, stream: TextIO, done: int = 0, **options: Any) -> None:
        super().__init__(
            BarColumn(bar_width=12),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.description}", markup=False),
            console=console(stream),
            **options,
        )
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
        students = plural(len({student for student, _ in ungraded}), "student")
        were = "was" if len(ungraded) == 1 else "were"
        text += (
            f"\n{plural(len(ungraded), 'file')} of {students} {were} not graded: a person must"
            " settle this; the report says why."
        )
    return text, sum(result.verdict is None and not result.is_ungraded for result in results)
