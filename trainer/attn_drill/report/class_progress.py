"""The progress of a class's grading, and a summary of its results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TextIO

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from attn_drill.classroom.records import StudentResult
from attn_drill.model.quantities import plural
from attn_drill.report.class_words import VERDICTS
from attn_drill.report.literal import console


class ClassProgress(Progress):
    """The submissions that are graded, their verdicts, and the time left.

    `done` of them have a result already. Without a terminal, rich prints the last state only.
    """

    def __init__(self, total: int, done: int, stream: TextIO) -> None:
        super().__init__(
            BarColumn(bar_width=12),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.description}", markup=False),
            console=console(stream),
        )
        self._verdicts: Counter[str | None] = Counter()
        self._submissions = self.add_task("", total=total, completed=done)

    def count(self, result: StudentResult) -> None:
        """Count the result of one more submission."""
        self._verdicts[result.verdict] += 1
        self.update(self._submissions, advance=1, description=in_counts(self._verdicts))


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
