"""A trace as terminal text.

Below each line is its result, and the name of the reference's result that is equal to it.
"""

from __future__ import annotations

from typing import TextIO

from rich.console import Group, RenderableType
from rich.text import Text

from trainer.model.report import Trace, TraceRow
from trainer.report.literal import console
from trainer.report.styles import QUIET, RIGHT, WRONG
from trainer.report.terminal import as_ascii, has_unicode
from trainer.report.visible import visible
from trainer.report.wording import number, sizes_in_words


def show_trace(trace: Trace, stream: TextIO) -> None:
    """Print a trace in the terminal's width."""
    out = console(stream)
    for part in _parts(trace):
        out.print(part if has_unicode(out) else as_ascii(part, out.width))


def render_trace(trace: Trace) -> RenderableType:
    """Return a trace as one renderable."""
    return Group(*_parts(trace))


def _parts(trace: Trace) -> list[RenderableType]:
    title = Text(f"case {trace.number}: {trace.case.name}", style="bold")
    title.append(f"   {sizes_in_words(trace.case)}   seed {trace.seed}", style=f"not bold {QUIET}")
    width = len(str(max((row.line for row in trace.rows), default=0)))
    lines = Text("\n").join(_row(row, width) for row in trace.rows)
    note = Text("= name: equal to the reference's result of that name, in any layout", style=QUIET)
    parts: list[RenderableType] = [title, lines, note]
    if trace.failure:
        parts.append(Text(visible(trace.failure, lines=True), style=WRONG))
    return parts


def _row(row: TraceRow, width: int) -> Text:
    """Return the line's code, and its result below."""
    indent = "  " * row.depth
    text = Text(no_wrap=True, overflow="ellipsis")
    text.append(f"{row.line:>{width}}  ", style=QUIET)
    text.append(f"{indent}{visible(row.text, lines=True)}\n", style="bold")
    text.append(f"{'':>{width}}  {indent}  {row.shape} {row.dtype}  {_range(row)}", style=QUIET)
    if row.milestone:
        text.append(f"  = {row.milestone}", style=RIGHT)
    return text


def _range(row: TraceRow) -> str:
    if row.dtype == "bool":
        return ""
    text = "" if row.low != row.low else f"{number(row.low)} to {number(row.high)}"
    return f"{text} ({row.not_finite} not finite)" if row.not_finite else text
