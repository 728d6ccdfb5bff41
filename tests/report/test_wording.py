"""What the learner sees: verdict first, both values, at 80 and 50 columns, without colour and in ASCII."""

import math

import pytest

from trainer.model.report import (
    Affected,
)
from trainer.report.visible import visible
from trainer.report.wording import affected, index_in_words, number, ranges


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (0.36612, "0.3661"),
        (-123.456, "-123.46"),
        (1e-7, "1.0e-07"),
        (12345.6, "1.2e+04"),
        (math.nan, "nan"),
        (-math.inf, "-inf"),
    ],
)
def test_number(value: float, text: str) -> None:
    """Short and readable at any size."""
    assert number(value) == text


def test_words() -> None:
    """Indices by letter, ranges, affected dims."""
    assert index_in_words((1, 5), "B (H D)", {"B": 2, "H": 3, "D": 4}) == "b=1 h=1 d=1"
    assert index_in_words((1, 5), "", {}) == "[1, 5]"
    assert ranges((0, 1, 2, 3, 7, 9, 10)) == "0-3, 7, 9, 10"
    assert affected(Affected("H", 4, (1, 3))) == ("heads (H)", "wrong 1, 3   right 0, 2")
    assert affected(Affected("L", 4, (0, 1, 2, 3)))[1] == "all 4 wrong"
    assert visible("a\x1b[31mb\x00c\r\nd\te", lines=True) == "a\\x1b[31mb\\x00c\nd\te"
