"""A trace as terminal text: below each line its result, and the reference's result equal to it."""

from __future__ import annotations

import math

from rich.console import Group, RenderableType
from rich.text import Text

from attn_drill.model.report import Trace, TraceRow
from attn_drill.report.literal import Trimmed, one_row
from attn_drill.report.styles import QUIET, RIGHT, WRONG
from attn_drill.report.visible import visible
from attn_drill.report.wording import number, sizes_in_words


def render_trace(trace: Trace) -> RenderableType:
    """Return a trace as one renderable."""
    title = Text(f"case {trace.number}: {trace.case.name}", style="bold")
    title.append(f"   {sizes_in_words(trace.case)}   seed {trace.seed}", style=f"not bold {QUIET}")
    parts = [title]
    digits = len(str(max((row.line for row in trace.rows), default=0)))
    for row in trace.rows:
        parts += [_code(row, digits), _result(row, digits)]
    equal = "= name: equal to the reference's result of that name, in any layout"
    parts.append(Text(equal, style=QUIET))
    if any(row.is_wrong for row in trace.rows):
        parts.append(Text("> the first line whose result is wrong", style=f"bold {WRONG}"))
    if trace.failure:
        parts.append(Text(visible(trace.failure, lines=True), style=WRONG))
    return Trimmed(Group(*parts))


def _code(row: TraceRow, digits: int) -> Text:
    """Return the line's code. The first wrong line has a marker."""
    mark, style = (">", f"bold {WRONG}") if row.is_wrong else (" ", QUIET)
    text = Text(f"{mark} {row.line:>{digits}}  ", style=style)
    return one_row(text.append(f"{'  ' * row.depth}{visible(row.text)}", style="not dim bold"))


def _result(row: TraceRow, digits: int) -> Text:
    """Return the shape, the dtype and the range of a line's result, and its milestone."""
    text = Text(" " * (digits + 6 + 2 * row.depth))
    if row.milestone:
        text.append(f"= {row.milestone}  ", style=RIGHT)
    if row.true is not None:
        values = f"{row.true} of {row.entries} True"
    else:
        values = "" if math.isnan(row.low) else f"{number(row.low)} to {number(row.high)}"
        values += f" ({row.not_finite} not finite)" if row.not_finite else ""
    style = WRONG if row.is_wrong else QUIET
    return one_row(text.append(f"{row.shape} {row.dtype}  {values}", style=style))
