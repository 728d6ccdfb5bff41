"""How far a class's grading is: one bar on a terminal, a line now and then elsewhere; and what came of it."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable
from types import TracebackType
from typing import TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from trainer.classroom.words import Result
from trainer.display.words import plain

_LINES = 10  # in all, where there is no terminal
_WORDS = {"passed": "passed", "failed": "failed", "error": "error", "timeout": "time limit", "memory": "memory", "not-allowed": "not allowed"}


class ClassProgress:
    """Counts by verdict, submissions done, time left."""

    def __init__(self, total: int, done: int, stream: TextIO) -> None:
        self._console = Console(file=stream, highlight=False, emoji=False)
        self._total, self._done, self._told = total, done, done
        self._verdicts: Counter[str | None] = Counter()
        narrow = self._console.width < 70
        times = [] if narrow else [TimeElapsedColumn(), TextColumn("gone,"), TimeRemainingColumn(), TextColumn("left")]
        self._bar = Progress(
            *(BarColumn(bar_width=12 if narrow else 24), MofNCompleteColumn(), *times, TextColumn("{task.description}", markup=False)),
            console=self._console,
            disable=not self._console.is_terminal,
        )
        self._task = self._bar.add_task("", total=total, completed=done)

    def __enter__(self) -> ClassProgress:
        self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._bar.stop()

    def advance(self, result: Result) -> None:
        """One more is done."""
        self._done += 1
        self._verdicts[result.verdict] += 1
        self._bar.update(self._task, advance=1, description=in_counts(self._verdicts))
        if not self._console.is_terminal and ((self._done - self._told) * _LINES >= self._total or self._done == self._total):
            self._told = self._done
            self._console.print(f"{self._done} of {self._total} graded: {in_counts(self._verdicts)}", soft_wrap=True)


def in_counts(verdicts: Counter[str | None]) -> str:
    """`3 passed, 1 failed`, the usual order."""
    said = [f"{verdicts[name]} {word}" for name, word in _WORDS.items() if verdicts[name]]
    return ", ".join([*said, f"{verdicts[None]} not graded"] if verdicts[None] else said)


def summary(results: Iterable[Result], width: int | None = None) -> tuple[str, int]:
    """A few lines of what came of a class, and how many could not be graded; `width`: the terminal's columns, where there is one."""
    verdicts: Counter[str | None] = Counter()
    mistakes: Counter[tuple[str, str]] = Counter()
    scores: list[float] = []
    for one in results:
        verdicts[one.verdict] += 1
        if one.score is not None:
            scores.append(one.score)
        if one.diagnosis is not None:
            mistakes.update({(mistake.id, mistake.says) for mistake in one.diagnosis.mistakes})
    lines = [f"{sum(verdicts.values())} results: {in_counts(verdicts)}"]
    if scores:
        lines.append(f"score: {sum(scores) / len(scores):.1f} on average, {sorted(scores)[len(scores) // 2]:.1f} in the middle")
    lines += [f"{count} × {name}: {plain(says)}" for (name, says), count in mistakes.most_common(3)]
    if width is not None:
        lines = [part for line in lines for part in textwrap.wrap(line, max(20, width), subsequent_indent="    ", break_on_hyphens=False)]
    return "\n".join(lines), verdicts[None]
