"""A trace as terminal text."""

import math
from dataclasses import replace

import pytest
from rich.console import Console

from attn_drill.model.case import Case
from attn_drill.model.report import Trace, TraceRow
from attn_drill.report.terminal import render_trace

CASE = Case("heads apart", {}, {}, {"B": 2, "L": 5})
ROWS = (
    TraceRow(7, "q = self.q_proj(x)", 0, "[B=2, L=5]", "float32", -1.5, 2.0, 0, "q"),
    TraceRow(12, "hidden = x > 0", 1, "[B=2]", "bool", 0.0, 1.0, 0, "", 2, 1),
    TraceRow(13, "y = x / 0", 1, "[B=2]", "float32", math.nan, math.nan, 6, ""),
)


def shown(trace: Trace, width: int = 80) -> list[str]:
    """Return the lines of a trace at this width."""
    console = Console(width=width)
    with console.capture() as capture:
        console.print(render_trace(trace))
    return capture.get().splitlines()


def test_result_is_below_its_line() -> None:
    """The result has the equal result of the reference, its shape, its dtype and its range."""
    lines = shown(Trace(CASE, 3, 42, ROWS))
    assert lines[0] == "case 3: heads apart   B=2 L=5   seed 42"
    assert lines[1:3] == [
        "   7  q = self.q_proj(x)",
        "        = q  [B=2, L=5] float32  -1.5000 to 2.0000",
    ]


def test_line_of_a_called_function_is_indented() -> None:
    """Of booleans, the True ones are counted. Values that are not finite are counted."""
    lines = shown(Trace(CASE, 3, 42, ROWS))
    assert lines[3:7] == [
        "  12    hidden = x > 0",
        "          [B=2] bool  1 of 2 True",
        "  13    y = x / 0",
        "          [B=2] float32   (6 not finite)",
    ]


@pytest.mark.parametrize("true", [0, 6])
def test_booleans_that_are_all_equal_are_counted(true: int) -> None:
    """A mask of nothing but False is the mistake to see."""
    row = TraceRow(1, "m = x", 0, "[B=6]", "bool", 0.0, 0.0, 0, "", 6, true)
    assert shown(Trace(CASE, 3, 42, (row,)))[2].endswith(f"[B=6] bool  {true} of 6 True")


def test_first_wrong_line_has_a_marker() -> None:
    """The marker is explained. A trace without a wrong line has no marker."""
    rows = (ROWS[0], replace(ROWS[1], is_wrong=True), ROWS[2])
    lines = shown(Trace(CASE, 3, 42, rows))
    assert [line for line in lines if line.startswith(">")] == [
        "> 12    hidden = x > 0",
        "> the first line whose result is wrong",
    ]
    assert not any(line.startswith(">") for line in shown(Trace(CASE, 3, 42, ROWS)))


def test_each_line_and_each_result_is_one_row() -> None:
    """Long code is cut. No row ends with a blank, and control characters cannot act."""
    texts = ("x = 1  # " + "word " * 30, "y\x1b[2J = '\x0c'   ")
    rows = tuple(
        TraceRow(line, text, depth, f"[B={'2' * 60}]", "float32", -1.0, 1.0, 0, "q")
        for line, (depth, text) in enumerate(enumerate(texts), 8)
    )
    lines = shown(Trace(CASE, 3, 42, rows), 50)
    assert [line for line in lines if len(line) > 50 or line != line.rstrip()] == []
    code, first, other, second, *_ = lines[1:]
    assert code.startswith("  8  x = 1  # word ")
    assert code.endswith("…")
    assert other == r"  9    y\x1b[2J = '\x0c'"
    for result in (first, second):
        assert result.strip().startswith("= q  [B=2222")
        assert result.endswith("…")


def test_exception_is_the_last_line() -> None:
    """Its escape sequences do not act."""
    assert shown(Trace(CASE, 3, 42, ROWS, "RuntimeError: \x1b[2J"))[-1] == r"RuntimeError: \x1b[2J"
