"""The lines of code around a line, with a marker."""

import pytest
from rich.cells import cell_len

from attn_drill.report.code_text import code_around, source_lines
from tests.support.report import lines_of

SOURCE = """import torch


class Attention:

    def forward(self, x):
        if x is None:
            return x

        return x.softmax(-1)
"""


def around(source: str, line: int, width: int = 80) -> list[str]:
    """Return the lines of code as a terminal of this width shows them."""
    return lines_of(code_around(source, line), width)


def test_line_has_a_marker_and_two_lines_on_each_side() -> None:
    """The indentation that all lines share is left out, and the line numbers are aligned."""
    assert around(SOURCE, 8) == [
        "   6 │ def forward(self, x):",
        "   7 │     if x is None:",
        "❯  8 │         return x",
        "   9 │",
        "  10 │     return x.softmax(-1)",
    ]


def test_blank_lines_at_both_ends_are_left_out() -> None:
    """The marked line itself is shown even if it is blank."""
    assert around(SOURCE, 1) == ["❯ 1 │ import torch"]
    assert around(SOURCE, 4) == [
        "❯ 4 │ class Attention:",
        "  5 │",
        "  6 │     def forward(self, x):",
    ]
    assert around(" \n\t\n  ", 2) == ["❯ 2 │"]


@pytest.mark.parametrize("line", [-1, 0, 12, 10**9])
def test_line_beyond_the_file_gives_no_lines(line: int) -> None:
    """A report then shows the text of the frame."""
    assert code_around(SOURCE, line) == []


def test_empty_source_has_one_line() -> None:
    """The source of a report is "" if it is not known."""
    assert around("", 1) == ["❯ 1 │"]
    assert code_around("", 2) == []


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_are_counted_as_python_counts_them(end: str) -> None:
    """A form feed, a vertical tab and a line separator of Unicode end no line."""
    source = end.join(["a = 1", "\x0cb = 2", "c = '\x0b\x1c\x85\u2028'", "d = 4"])
    assert len(source_lines(source)) == 4
    lines = around(source, 3)
    assert len(lines) == 4
    assert [line[:3] for line in lines] == ["  1", "  2", "❯ 3", "  4"]
    assert lines[2].endswith(r"c = '\x0b\x1c\x85\u2028'")


def test_tabs_have_the_width_of_four_columns() -> None:
    """A tab ends at the next multiple of four, so indentation with both kinds agrees."""
    source = "def f():\n\tif x:\n\t\treturn 1\n        return 2\n  \treturn 3"
    assert around(source, 3) == [
        "  1 │ def f():",
        "  2 │     if x:",
        "❯ 3 │         return 1",
        "  4 │         return 2",
        "  5 │     return 3",
    ]


def test_control_characters_in_code_cannot_act() -> None:
    """Escape sequences, line ends inside a line and marks of direction are shown as escapes."""
    (line,) = around("x = '\x1b[2J\x07\u202e\x00[bold]'", 1)
    assert line == r"❯ 1 │ x = '\x1b[2J\x07\u202e\x00[bold]'"


@pytest.mark.parametrize("width", [20, 40, 41])
@pytest.mark.parametrize("letter", ["x", "漢"])
def test_long_line_is_cut_and_stays_one_row(letter: str, width: int) -> None:
    """A comment that does not fit ends with an ellipsis. Some characters fill two columns."""
    source = f"a = 1  # {letter * 100}\nb = 2  # {letter * 200}"
    lines = around(source, 2, width)
    assert len(lines) == 2
    assert [line[:10] for line in lines] == ["  1 │ a = ", "❯ 2 │ b = "]
    assert all(line.endswith("…") for line in lines)
    assert all(width - 1 <= cell_len(line) <= width for line in lines)
