"""How far a class's grading is: one bar on a terminal, a line now and then elsewhere; and what came of it."""

from __future__ import annotations

import shutil
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from types import TracebackType
from typing import TextIO

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from trainer.classroom.records import StudentResult
from trainer.report.literal import console
from trainer.report.visible import visible

_LINES = 10  # in all, where there is no terminal
_MOST_NAMES = 10  # that a person has to settle
_MOST_FILES = 4  # of one such name
_WORDS = {
    "passed": "passed",
    "failed": "failed",
    "error": "error",
    "timeout": "time limit",
    "memory": "memory",
    "not-allowed": "not allowed",
}


class ClassProgress:
    """Counts by verdict, submissions done, time left."""

    def __init__(self, total: int, done: int, stream: TextIO) -> None:
        self._console = console(stream)
        self._total, self._done, self._told = total, done, done
        self._verdicts: Counter[str | None] = Counter()
        narrow = self._console.width < 70
        times = (
            []
            if narrow
            else [
                TimeElapsedColumn(),
                TextColumn("gone,"),
                TimeRemainingColumn(),
                TextColumn("left"),
            ]
        )
        self._bar = Progress(
            *(
                BarColumn(bar_width=12 if narrow else 24),
                MofNCompleteColumn(),
                *times,
                TextColumn("{task.description}", markup=False),
            ),
            console=self._console,
            disable=not self._console.is_terminal,
        )
        self._task = self._bar.add_task("", total=total, completed=done)

    def __enter__(self) -> ClassProgress:
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.stop()

    def advance(self, result: StudentResult) -> None:
        """One more is done."""
        self._done += 1
        self._verdicts[result.verdict] += 1
        self._bar.update(self._task, advance=1, description=in_counts(self._verdicts))
        if not self._console.is_terminal and (
            (self._done - self._told) * _LINES >= self._total or self._done == self._total
        ):
            self._told = self._done
            self._console.print(
                f"{self._done} of {self._total} graded: {in_counts(self._verdicts)}", soft_wrap=True
            )


def in_counts(verdicts: Counter[str | None]) -> str:
    """`3 passed, 1 failed`, the usual order."""
    said = [f"{verdicts[name]} {word}" for name, word in _WORDS.items() if verdicts[name]]
    return ", ".join([*said, f"{verdicts[None]} not graded"] if verdicts[None] else said)


def summary(results: Iterable[StudentResult], width: int | None = None) -> tuple[str, int]:
    """Return a few lines on the results of a class, and how many the grader failed on.

    Args:
        results: those of the class.
        width: the columns of the terminal, or None if there is none.
    """
    unsettled: dict[str, tuple[str, ...]] = {}
    verdicts: Counter[str | None] = Counter()
    mistakes: Counter[tuple[str, str]] = Counter()
    scores: list[float] = []
    failed = 0
    for one in results:
        verdicts[one.verdict] += 1
        failed += one.verdict is None and not one.unsettled
        if one.unsettled:
            unsettled.setdefault(one.student, one.unsettled)
        if one.score is not None:
            scores.append(one.score)
        mistakes.update({(mistake.id, mistake.says) for mistake in one.mistakes})
    lines = [f"{sum(verdicts.values())} results: {in_counts(verdicts)}"]
    if scores:
        lines.append(
            f"score: {sum(scores) / len(scores):.1f} on average, {sorted(scores)[len(scores) // 2]:.1f} in the middle"
        )
    lines += [
        f"{count} × {name}: {visible(says, lines=True)}"
        for (name, says), count in mistakes.most_common(3)
    ]
    lines += _to_settle(unsettled)
    return "\n".join(in_columns(line, width) for line in lines), failed


def columns(stream: TextIO) -> int | None:
    """Return the columns of the terminal that the stream is, or None if it is none."""
    return shutil.get_terminal_size((80, 24)).columns if stream.isatty() else None


def in_columns(line: str, width: int | None) -> str:
    """Return a line broken at blanks, so that it fits this many columns."""
    if width is None:
        return line
    return "\n".join(
        textwrap.wrap(line, max(20, width), subsequent_indent="    ", break_on_hyphens=False)
    )


def _to_settle(unsettled: Mapping[str, Sequence[str]]) -> list[str]:
    """Say which students are not graded because several files came under one name."""
    if not unsettled:
        return []
    lines = [f"{len(unsettled)} to settle: more than one submission of one name"]
    for student, places in islice(unsettled.items(), _MOST_NAMES):
        more = f" and {len(places) - _MOST_FILES} more" if len(places) > _MOST_FILES else ""
        lines.append(f"  {visible(student)}: {visible(', '.join(places[:_MOST_FILES]))}{more}")
    if len(unsettled) > _MOST_NAMES:
        lines.append(f"  and {len(unsettled) - _MOST_NAMES} more names")
    return [*lines, "Remove or rename all but one of each name, then add --resume."]
