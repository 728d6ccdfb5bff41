"""Rows in columns."""

import pytest

from attn_drill.cli._command_line import in_columns

ROWS = [["a", "10", "new", "A title of several words that is long"], ["bcd", "5", "old", ""]]


@pytest.mark.parametrize(
    ("width", "lines"),
    [
        (
            80,
            [
                "id   min  state  title",
                "a     10  new    A title of several words that is long",
                "bcd    5  old",
            ],
        ),
        (
            47,
            [
                "id   min  state  title",
                "a     10  new    A title of several words that",
                "                 is long",
                "bcd    5  old",
            ],
        ),
        (
            30,
            [
                "id   min  state",
                "a     10  new",
                "  A title of several words",
                "  that is long",
                "bcd    5  old",
            ],
        ),
    ],
)
def test_prose_is_beside_the_cells_or_below_them(width: int, lines: list[str]) -> None:
    """Numbers are at the right of their column. No line is wider than the terminal."""
    assert list(in_columns(["id", "min", "state", "title"], ROWS, width)) == lines


def test_colours_take_no_columns() -> None:
    """Only the cell is coloured."""
    coloured = list(in_columns(["id", "min", "state", "title"], ROWS, 80, {"new": "blue"}))
    assert coloured[1].startswith("a     10  \x1b[34mnew\x1b[0m    A title")
    assert coloured[2:] == list(in_columns(["id", "min", "state", "title"], ROWS, 80))[2:]
