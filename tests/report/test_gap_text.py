"""Tests of references with gaps as text."""

import pytest

from trainer.quiz.gaps import Gap, GapExercise
from trainer.report.gap_text import gap_line, introduction, right_code

GAP = Gap(
    "____1",
    "self.q_proj(x).view(batch, length, self.num_heads, self.head_dim)",
    "q = ____1.transpose(1, 2).reshape(batch, self.num_heads, self.head_dim, length)",
    "",
)
CODE = "def f(x):\n    k = ____\n\n    return " + GAP.line


@pytest.mark.parametrize("width", [50, 80])
def test_text_fits_the_width(width: int) -> None:
    """Lines have no blanks at their ends."""
    exercise = GapExercise(CODE, (GAP,))
    for text in (introduction(exercise, width), gap_line(GAP, width), right_code(GAP, width)):
        assert max(map(len, text.splitlines())) <= width
        assert all(line == line.rstrip() for line in text.splitlines())
    assert "".join(GAP.right.split()) in "".join(right_code(GAP, width).split())


def test_gap_without_a_number_is_explained() -> None:
    """The sentence is missing if all gaps have numbers."""
    assert "without a number" in introduction(GapExercise(CODE, (GAP,)), 80).replace("\n", " ")
    only = GapExercise("x = ____1", (GAP,))
    assert "without a number" not in introduction(only, 80).replace("\n", " ")
