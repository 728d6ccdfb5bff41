"""Code on a screen: one text, two texts next to each other, and the difference of two texts."""

import pytest

from attn_drill.report.code_text import SIDE_BY_SIDE, code_block, code_pair, difference
from tests.support.report import lines_of

LONG = "value = " + " + ".join(["abcdefgh"] * 20)


def test_two_codes_are_side_by_side_on_a_wide_screen() -> None:
    """Each has its title above it."""
    lines = lines_of([code_pair(("mine", "yours"), ("x = 1", "y = 2"), SIDE_BY_SIDE)], SIDE_BY_SIDE)
    assert len(lines) == 2
    assert lines[0].index("mine") < lines[0].index("yours")
    assert lines[1].split() == ["x", "=", "1", "y", "=", "2"]


@pytest.mark.parametrize("width", [50, 80, SIDE_BY_SIDE - 1])
def test_two_codes_are_one_below_the_other_on_a_narrow_screen(width: int) -> None:
    """No line is wider than the screen."""
    lines = lines_of([code_pair(("mine", "yours"), (LONG, None), width)], width)
    assert [line.split()[0] for line in lines if "─" in line] == ["mine", "yours"]
    assert lines[-1] == "(nothing)"
    assert max(map(len, lines)) <= width


def test_long_line_of_code_goes_on_below() -> None:
    """Every word of the code is shown."""
    text = " ".join(lines_of([code_block(LONG, 50)], 50))
    assert text.count("abcdefgh") == 20


def test_code_shows_no_control_characters() -> None:
    """The text of a file must not move the cursor."""
    lines = lines_of([code_block("x = '\x1b[2J'\n\ty = 2\n", 50)], 50)
    assert "\x1b" not in "".join(lines)
    assert lines[1] == "    y = 2"


def test_difference_has_changed_lines_with_a_line_around_them() -> None:
    """Lines far from a change are left out."""
    before = "a\nb\nc\nd\ne\nf\n"
    after = "a\nb\nX\nd\ne\nf\n"
    assert lines_of([difference(before, after, 50)], 50) == ["   b", "-  c", "+  X", "   d"]


def test_difference_of_equal_texts_is_a_sentence() -> None:
    """The end of the last line does not count."""
    assert lines_of([difference("a\n", "a", 50)], 50) == ["The texts are equal."]
    assert lines_of([difference("", "", 50)], 50) == ["The texts are equal."]


def test_difference_fits_the_screen_and_shows_no_control_characters() -> None:
    """A long changed line goes on below, without another mark."""
    lines = lines_of([difference("x = 1\n", f"{LONG}\n'\x1b[2J'\n", 50)], 50)
    assert max(map(len, lines)) <= 50
    assert "\x1b" not in "".join(lines)
    assert {line[0] for line in lines} == {"-", "+", " "}
