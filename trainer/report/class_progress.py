"""The progress of a class's grading, and a summary of its results.

On a terminal the progress is a bar. Elsewhere it is up to ten lines. If no result comes for a
while, the progress says what it waits for, so that the user sees that the grading still runs.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, TextIO

from rich.console import RenderableType
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from trainer.classroom.records import StudentResult
from trainer.model.listing import first_of
from trainer.model.quantities import plural
from trainer.report.class_words import VERDICTS
from trainer.report.literal import console
from trainer.report.visible import visible

if TYPE_CHECKING:
    from trainer.classroom.grading_jobs import Stall

_QUIET_SECONDS = 30  # without a result, before the progress says what it waits for
_MOST_WAITING = 3  # shown files that are being graded
_MOST_LINES = 10  # lines of progress if there is no terminal
_MOST_NAMES = 10  # shown names with more than one submission
_MOST_FILES = 4  # shown files of each of these names


class ClassProgress(Progress):
    """The submissions that are graded, their verdicts, and the time left.

    Below the bar is a sentence about the thing that the grading waits for.

    Args:
        total: how many submissions there are.
        done: how many of them have a result already.
        stream: the file to print to.
    """

    def __init__(self, total: int, done: int, stream: TextIO) -> None:
        out = console(stream)
        self._total, self._done = total, done
        self._done_in_last_line = done
        self._waiting = ""
        self._said_waiting = 0  # lines about the present wait
        self._verdicts: Counter[str | None] = Counter()
        narrow = out.width < 70
        times = (
            TimeElapsedColumn(),
            TextColumn("gone,"),
            TimeRemainingColumn(),
            TextColumn("left"),
        )
        super().__init__(
            BarColumn(bar_width=12 if narrow else 24),
            MofNCompleteColumn(),
            *(() if narrow else times),
            TextColumn("{task.description}", markup=False),
            console=out,
            disable=not out.is_terminal,
        )
        self._submissions = self.add_task("", total=total, completed=done)

    def get_renderables(self) -> Iterator[RenderableType]:
        """Yield the bar and the sentence, as rich requires."""
        yield from super().get_renderables()
        if self._waiting:
            yield Text(self._waiting)

    def stop(self) -> None:
        """End the bar. The sentence does not stay."""
        self._waiting = ""
        super().stop()

    def show_stall(self, stall: Stall) -> None:
        """Say what the grading waits for, if no result came for a while.

        Without a terminal this is one line every 30 seconds.
        """
        due = int(stall.seconds // _QUIET_SECONDS)
        if due and not self.disable:
            self._waiting = _in_words(stall)
        elif due > self._said_waiting:
            self._said_waiting = due
            self.console.print(_in_words(stall), soft_wrap=True)

    def count(self, result: StudentResult) -> None:
        """Count the result of one more submission."""
        self._waiting, self._said_waiting = "", 0
        self._done += 1
        self._verdicts[result.verdict] += 1
        self.update(self._submissions, advance=1, description=in_counts(self._verdicts))
        since_last_line = self._done - self._done_in_last_line
        if self.disable and (
            since_last_line * _MOST_LINES >= self._total or self._done == self._total
        ):
            self._done_in_last_line = self._done
            self.console.print(
                f"{self._done} of {self._total} graded: {in_counts(self._verdicts)}", soft_wrap=True
            )


def _in_words(stall: Stall) -> str:
    """Return a sentence, for example `waiting for ana.py, bob.py: 35 s`."""
    seconds = f"{stall.seconds:.0f} s"
    if stall.obstacle:
        left = plural(stall.left, "submission")
        return f"waiting for {visible(stall.obstacle)}, {left} left: {seconds}"
    return f"waiting for {visible(first_of(stall.files, _MOST_WAITING))}: {seconds}"


def in_counts(verdicts: Counter[str | None]) -> str:
    """Return counts of verdicts in the usual order, for example `3 passed, 1 failed`."""
    return ", ".join(
        f"{verdicts[name]} {words}" for name, (_, words) in VERDICTS.items() if verdicts[name]
    )


def summary(results: Iterable[StudentResult]) -> tuple[str, int]:
    """Return a few lines about the results of a class, and the number of failed gradings."""
    ungraded: dict[str, list[str]] = {}
    verdicts: Counter[str | None] = Counter()
    mistakes: Counter[str] = Counter()
    scores: list[float] = []
    failed = 0
    for result in results:
        verdicts[result.verdict] += 1
        failed += result.verdict is None and not result.is_ungraded
        if result.is_ungraded:
            ungraded.setdefault(result.student, []).append(result.file)
        if result.score is not None:
            scores.append(result.score)
        mistakes.update({mistake.says for mistake in result.mistakes})
    lines = [f"{sum(verdicts.values())} results: {in_counts(verdicts)}"]
    if scores:
        mean, median = statistics.fmean(scores), statistics.median(scores)
        lines.append(f"points from checks: mean {mean:.1f}, median {median:.1f}")
    lines += [f"{count} x {visible(says, lines=True)}" for says, count in mistakes.most_common(3)]
    if ungraded:
        files = sum(map(len, ungraded.values()))
        lines.append(
            f"{plural(files, 'submission')} of {plural(len(ungraded), 'student')} not graded: a"
            " person must settle them; the report says why."
        )
    return "\n".join(lines), failed
