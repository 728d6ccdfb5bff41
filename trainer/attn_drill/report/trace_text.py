"""A trace as terminal text.

Below each line is its result, and the name of the reference's result that is equal to it.
"""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from attn_drill.model.report import Trace, TraceRow
from attn_drill.report.literal import Trimmed, one_row
from attn_drill.report.styles import QUIET, RIGHT, WRONG
from attn_drill.report.visible import visible
from attn_drill.report.wording import number, sizes_in_words


def render_trace(trace: Trace) -> RenderableType:
    """Return a trace as one renderable."""
    return Trimmed(Group(*_parts(trace)))


def _parts(trace: Trace) -> Iterator[RenderableType]:
    title = Text(f"case {trace.number}: {trace.case.name}", style="bold")
    title.append(f"   {sizes_in_words(trace.case)}   seed {trace.seed}", style=f"not bold {QUIET}")
    yield title
    digits = len(str(max((row.line for row in trace.rows), default=0)))
    for row in trace.rows:
        yield one_row(_code(row, digits))
        yield one_row(_result(row, digits))
    yield Text("= name: equal to the reference's result of that name, in any layout", style=QUIET)
    if any(row.is_wrong for row in trace.rows):
        yield Text("> the first line whose result is wrong", style=f"bold {WRONG}")
    if trace.failure:
        yield Text(visible(trace.failure, lines=True), style=WRONG)


def _code(row: TraceRow, digits: int) -> Text:
    """Return the line's code. The first wrong line has a marker."""
    mark, style = (">", f"bold {WRONG}") if row.is_wrong else (" ", QUIET)
    text = Text(f"{mark} {row.line:>{digits}}  ", style=style)
    return text.append(f"{'  ' * row.depth}{visible(row.text)}", style="not dim bold")


def _result(row: TraceRow, digits: int) -> Text:
    """Return the shape, the dtype and the range of a line's result, and its milestones."""
    text = Text(" " * (digits + 6 + 2 * row.depth))
    if row.milestone:
        text.append(f"= {row.milestone}  ", style=RIGHT)
    style = WRONG if row.is_wrong else QUIET
    return text.append(f"{row.shape} {row.dtype}  {_range(row)}", style=style)


def _range(row: TraceRow) -> str:
    if row.true is not None:
        return f"{row.true} of {row.entries} True"
    text = "" if row.low != row.low else f"{number(row.low)} to {number(row.high)}"
    return f"{text} ({row.not_finite} not finite)" if row.not_finite else text
