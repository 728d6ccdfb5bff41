"""Show a failed test with its failures and the command that repeats the test.

The first failed test of a file also shows the whole report.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from trainer.model.report import Outcome, Report
from trainer.pytest_plugin.grade_files import with_plugin_options
from trainer.report.literal import console, grid, in_ascii, is_utf
from trainer.report.styles import QUIET, WRONG
from trainer.report.terminal import render
from trainer.report.visible import visible
from trainer.report.wording import affected, index_in_words, number, sizes_in_words

if TYPE_CHECKING:
    from _pytest._io import TerminalWriter

_WIDTH, _LEAST_WIDTH = 80, 40


class Crash(NamedTuple):
    """The path, line and message of a failure. pytest reads attributes of these names."""

    path: str
    lineno: int
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.lineno}: {self.message}"


class FailedTest(msgspec.Struct, frozen=True):
    """The text about a failed test: the `longrepr` of pytest's report.

    Attributes:
        outcomes: the failures of the test.
        report: the report on the file.
        shows_report: True if this test shows the whole report.
        is_one_line: True if the terminal shows only the line that pytest writes (`--tb=line`).
        command: the command that repeats the test.
    """

    outcomes: tuple[Outcome, ...]
    report: Report
    shows_report: bool
    is_one_line: bool
    command: str

    @property
    def reprcrash(self) -> Crash:
        """The path, line and message for the short summary, `--tb=line` and JUnit."""
        first = self.outcomes[0]
        line = first.frames[-1].line if first.frames else 1
        return Crash(self.report.file, line, in_one_line(first.message))

    def toterminal(self, tw: TerminalWriter) -> None:
        """Write the text in the width, the colours and the encoding of the terminal."""
        if not self.is_one_line:
            text = self.text(max(tw.fullwidth, _LEAST_WIDTH), has_colour=tw.hasmarkup)
            tw.line(text if is_utf(getattr(tw, "_file", None)) else in_ascii(text))

    def __str__(self) -> str:
        return self.text(_WIDTH, has_colour=False)

    def text(self, width: int, *, has_colour: bool) -> str:
        """Return the text.

        Args:
            width: in columns.
            has_colour: use the colours of a terminal.
        """
        parts: list[RenderableType] = []
        if not (self.shows_report and self.report.first_failure() in self.outcomes):
            parts += [Group(*_brief(outcome, self.report)) for outcome in self.outcomes]
        if self.shows_report:
            parts += [Text()] if parts else []
            parts.append(render(self.report, width))
        out = console(
            io.StringIO(),
            width=width,
            force_terminal=has_colour,
            no_color=not has_colour,
            legacy_windows=False,
        )
        with out.capture() as capture:
            out.print(*parts, sep="\n")
        lines = [line.rstrip() for line in with_plugin_options(capture.get()).rstrip().splitlines()]
        return "\n".join([*lines, "", f"this test again  {self.command}"])


def in_one_line(message: str) -> str:
    """Return a message in one line that cannot act on the terminal, with this plugin's options."""
    return with_plugin_options(" ".join(visible(message, lines=True).split()))


def _brief(outcome: Outcome, report: Report) -> Iterator[RenderableType]:
    """Yield the check, the case, the message, the index in the tensor, and the line."""
    title = Text(outcome.check, style=f"bold {WRONG}")
    rows = grid(padding=(0, 2))
    rows.add_column(style=QUIET, no_wrap=True)
    rows.add_column()
    sizes: dict[str, int] = {}
    if outcome.number is not None:
        case = report.cases[outcome.number - 1]
        title.append(f"  case {outcome.number}: {case.name}", style="bold default")
        if case.sizes:
            sizes = dict(case.sizes)
            rows.add_row("sizes", sizes_in_words(case))
    for frame in outcome.frames:
        rows.add_row("where", Text(f"line {frame.line}  {visible(frame.text, lines=True)}"))
    mismatch = outcome.mismatch
    if mismatch is not None and mismatch.kind == "value":
        index, error = mismatch.max_abs_error_index, mismatch.max_abs_error
        if index is not None and mismatch.expected_type != "bool":
            size = "not finite" if error is None else number(error)
            place = index_in_words(index, mismatch.dims, sizes)
            rows.add_row("greatest", f"difference {size} at {place}")
        if along := affected(mismatch.affected):
            rows.add_row("along", along)
    yield title
    yield Padding(Text(visible(outcome.advised_message, lines=True)), (0, 0, 0, 2), expand=False)
    if rows.row_count:
        yield Padding(rows, (0, 0, 0, 2), expand=False)
