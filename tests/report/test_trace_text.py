"""A trace as terminal text."""

import io
import math

from rich.console import Console

from trainer.model.case import Case
from trainer.model.report import Trace, TraceRow
from trainer.report.trace_text import render_trace, show_trace

CASE = Case("heads apart", {}, {}, {"B": 2, "L": 5})
ROWS = (
    TraceRow(7, "q = self.q_proj(x)", 0, "[B=2, L=5]", "float32", -1.5, 2.0, 0, "q"),
    TraceRow(12, "hidden = x > 0", 1, "[B=2]", "bool", 0.0, 1.0, 0, ""),
    TraceRow(13, "y = x / 0", 1, "[B=2]", "float32", math.nan, math.nan, 6, ""),
)


def shown(trace: Trace, width: int = 80) -> list[str]:
    """Return the lines of a trace at this width."""
    console = Console(width=width)
    with console.capture() as capture:
        console.print(render_trace(trace))
    return [line.rstrip() for line in capture.get().splitlines()]


def test_result_is_below_its_line() -> None:
    """The result has its shape, dtype, range and the equal result of the reference."""
    lines = shown(Trace(CASE, 3, 42, ROWS))
    assert lines[0] == "case 3: heads apart   B=2 L=5   seed 42"
    assert lines[1:3] == [
        " 7  q = self.q_proj(x)",
        "      [B=2, L=5] float32  -1.5000 to 2.0000  = q",
    ]


def test_line_of_a_called_function_is_indented() -> None:
    """Booleans have no range. Values that are not finite are counted."""
    lines = shown(Trace(CASE, 3, 42, ROWS))
    assert lines[3:7] == [
        "12    hidden = x > 0",
        "        [B=2] bool",
        "13    y = x / 0",
        "        [B=2] float32   (6 not finite)",
    ]


def test_exception_is_the_last_line() -> None:
    """Its escape sequences do not act."""
    assert shown(Trace(CASE, 3, 42, ROWS, "RuntimeError: \x1b[2J"))[-1] == r"RuntimeError: \x1b[2J"


def test_stream_without_unicode_gets_ascii() -> None:
    """A character outside ASCII is replaced, and the line is still shown."""
    row = TraceRow(1, "α = x", 0, "[B=2]", "float32", 0.0, 1.0, 0, "")
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    show_trace(Trace(CASE, 3, 42, (row,)), stream)
    stream.flush()
    assert b"1  ? = x" in stream.buffer.getvalue()  # type: ignore[attr-defined]
