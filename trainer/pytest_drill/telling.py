"""A failed test as text: what it found, the whole report where it is the first to fail, and how to get the same again."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from trainer.core.report import Mismatch, Outcome, Report
from trainer.display.literal import console, grid
from trainer.display.styles import QUIET, WRONG
from trainer.display.terminal import as_ascii, render
from trainer.display.visible import visible
from trainer.display.words import affected, index_in_words, number, sizes_in_words

_WIDTH, _LEAST_WIDTH = 80, 40


class Writer(Protocol):
    """What is needed of pytest's terminal."""

    hasmarkup: bool

    @property
    def fullwidth(self) -> int:
        """Columns."""

    def line(self, s: str = "") -> None:
        """Write a line."""


@dataclass(frozen=True)
class Crash:
    """Where and what in one line, as pytest asks for it under this name: for the short summary, `--tb=line` and JUnit."""

    path: str
    lineno: int
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.lineno}: {self.message}"


@dataclass(frozen=True)
class Told:
    """What is shown of a failed test.

    outcomes   what failed
    report     all that is said of the file; whole: whether it is shown here, and not at another test
    terse      whether the terminal is to show one line, which pytest writes itself (`--tb=line`)
    inside     the names of the tests' tree below the file
    again      the command that makes the test again
    number     of the file, from 0
    """

    file: str
    outcomes: tuple[Outcome, ...]
    report: Report
    whole: bool
    terse: bool
    inside: tuple[str, ...]
    again: str
    number: int

    @property
    def reprcrash(self) -> Crash:
        """Where and what in one line."""
        first = self.outcomes[0]
        return Crash(
            self.file,
            first.frames[-1].line if first.frames else 1,
            _in_our_words(" ".join(visible(first.message, lines=True).split())),
        )

    def toterminal(self, tw: Writer) -> None:
        """Write it as wide as the terminal is, in colour where it has that, in symbols that its encoding has."""
        if self.terse:
            return
        encoding = getattr(getattr(tw, "_file", None), "encoding", None) or "utf-8"
        unicode = encoding.lower().replace("_", "-").startswith("utf")
        tw.line(self.text(max(tw.fullwidth, _LEAST_WIDTH), colour=tw.hasmarkup, unicode=unicode))

    def __str__(self) -> str:
        return self.text(_WIDTH, colour=False, unicode=True)

    def text(self, width: int, *, colour: bool, unicode: bool) -> str:
        """The lines."""
        parts: list[RenderableType] = []
        if not self.whole or self.report.first_failure() not in self.outcomes:
            brief = Group(
                *(part for outcome in self.outcomes for part in _brief(outcome, self.report))
            )
            parts.append(brief if unicode else as_ascii(brief, width))
        if self.whole:
            parts += [Text()] if parts else []
            parts.append(render(self.report, width, unicode=unicode, commands=False))
        out = console(
            io.StringIO(),
            width=width,
            force_terminal=colour,
            force_jupyter=False,
            no_color=not colour,
            legacy_windows=False,
        )
        with out.capture() as capture:
            out.print(*parts, sep="\n")
        lines = [line.rstrip() for line in _in_our_words(capture.get()).rstrip().splitlines()]
        return "\n".join([*lines, "", f"the same again  {self.again}"])


def _in_our_words(text: str) -> str:
    """A report names options as the command line calls them."""
    return text.replace("`--time-limit`", "`--drill-time-limit`").replace(
        "`--memory-limit`", "`--drill-memory-limit`"
    )


def _brief(outcome: Outcome, report: Report) -> Iterator[RenderableType]:
    """One outcome: the check and the case, what is said, and where in the tensor and in the file."""
    title = Text(outcome.check, style=f"bold {WRONG}")
    case = report.cases[outcome.number - 1] if outcome.number is not None else None
    if case is not None:
        title.append(f"  case {outcome.number}: {case.name}", style="bold default")
    yield title
    yield Padding(Text(visible(outcome.message, lines=True)), (0, 0, 0, 2), expand=False)
    rows = grid(padding=(0, 2))
    rows.add_column(style=QUIET, no_wrap=True)
    rows.add_column()
    if case is not None and case.sizes:
        rows.add_row("sizes", sizes_in_words(case))
    for frame in outcome.frames:
        rows.add_row("where", Text(f"line {frame.line}  {visible(frame.text, lines=True)}"))
    if outcome.mismatch is not None and outcome.mismatch.kind == "value":
        for label, words in _where(outcome.mismatch, dict(case.sizes) if case is not None else {}):
            rows.add_row(label, words)
    if rows.row_count:
        yield Padding(rows, (0, 0, 0, 2), expand=False)


def _where(found: Mismatch, sizes: dict[str, int]) -> Iterator[tuple[str, str]]:
    if found.max_abs_error_index is not None and found.expected_type != "bool":
        size = "not finite" if found.max_abs_error is None else number(found.max_abs_error)
        yield (
            "greatest",
            f"difference {size} at {index_in_words(found.max_abs_error_index, found.dims, sizes)}",
        )
    yield from map(affected, found.affected)
