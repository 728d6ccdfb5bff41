"""The parts of the session's screen as text."""

from pathlib import Path

import pytest
from rich.text import Text

from attn_drill.session._widgets import render_page, side_by_side
from tests.support.report import lines_of
from tests.support.session import Practice


def test_parts_stay_together_in_lines_of_the_width() -> None:
    """A key and its label are never in two lines."""
    parts = [Text("a one"), Text("b two"), Text("c three")]
    assert side_by_side(parts, 14).plain == "a one  b two\nc three"
    assert side_by_side(parts, 3).plain == "a one\nb two\nc three"


@pytest.fixture
def practice(file: Path, home: Path) -> Practice:
    """Return a session whose grader is ready."""
    return Practice(file, home)


def page(practice: Practice, width: int = 80) -> str:
    """Return the report pane as text without line breaks."""
    return " ".join(" ".join(lines_of([render_page(practice.model, width)], width)).split())


def test_path_is_in_one_line_before_the_first_verdict(practice: Practice) -> None:
    """A path that is broken over two lines cannot be copied."""
    lines = lines_of([render_page(practice.model, 200)], 200)
    assert str(practice.path) in [line.strip() for line in lines]


def test_unfinished_text_is_above_the_last_verdict(practice: Practice) -> None:
    """The line that does not parse is shown."""
    practice.save("half 1")
    assert page(practice).startswith("gqa.py does not parse: line 12")
    assert "line 12 x = (" in page(practice)
    practice.save("wrong")
    practice.save("half 2")
    assert "The last verdict, on an earlier text: FAILED" in page(practice)


def test_grade_is_open_to_disagreement(practice: Practice) -> None:
    """The sentence has the keys, and follows the learner's own grade."""
    practice.save("right")
    keys = "Disagree? 1 again, 2 hard, 3 good, 4 easy"
    assert f"Graded easy: 5 of 20 min, no hint, 0 failed attempts. {keys}" in page(practice)
    practice.model.rate(2)
    assert f"Graded hard, as you say. {keys}" in page(practice)


def test_report_hides_what_its_stage_does_not_show(file: Path, home: Path) -> None:
    """The sentence names the key of the session, and no command."""
    practice = Practice(file, home, stage="line")
    practice.save("wrong")
    assert "press w to see it" in page(practice)
    assert "not scaled" not in page(practice)
    practice.press("why", "why")
    assert "LIKELY The scores are not scaled" in page(practice)
    assert "attn-drill check" not in page(practice)
