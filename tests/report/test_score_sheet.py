"""A score sheet as terminal text."""

import io
import re
from dataclasses import replace

import pytest
from rich.console import Console

from attn_drill.exercises.interview import QuestionRow, ScoreSheet
from attn_drill.packs.question_bank import FollowUp
from attn_drill.report.pages import score_sheet_page
from attn_drill.report.results_text import render_sheet
from tests.support.pages import Page
from tests.support.report import SHEET


def text(width: int, sheet: ScoreSheet = SHEET) -> str:
    """Return the sheet as text of this width."""
    console = Console(width=width, file=io.StringIO(), highlight=False, emoji=False)
    with console.capture() as capture:
        console.print(render_sheet(sheet, width))
    return capture.get()


@pytest.mark.parametrize("width", [None, 140, 139, 80, 50])
def test_terminal_and_page_have_all_parts_of_the_sheet(width: int | None) -> None:
    """`None` is the page. Nothing is cut off at any width."""
    shown = Page(score_sheet_page(SHEET)).text if width is None else text(width)
    assert len(re.findall(r"\bvalue\b", shown)) == 30, "the long line is whole"
    words = " ".join(shown.split())
    for part in (
        "1 of 3 problems solved",
        "Score: 44 of 100 points",
        "40.5 of 75",
        "3.0 of 15",
        "the rule of <correctness>",
        "PASSED",
        "FAILED",
        "NOTHING HANDED IN",
        "12 of 12 checks passed",
        "2 attempts",
        "1 hint",
        "2 mistakes shown",
        "the reference was shown",
        "values, masks",
        *("10:00", "13:20", "30:00", "47:10", "45:00", "6:40 overtime", "2:10 overtime"),
        *("right = 1", "ref_one", "ref_two", "ref_three"),
        "<it> was gone",
        "Why is <b>one</b> slow?",
        "hard",
        "Because 1 < 2, and k & v grow.",
        "again",
        "Twelve.",
        "not answered",
        "Your own ratings: 1 hard, 1 again, 1 not answered. They give no points.",
        "attn-drill start two: not solved yet.",
    ):
        assert part in words
    order = ("1 of 3 problems solved", "Practise next", "Score: 44", "Your own ratings", "PASSED")
    assert sorted(order, key=words.index) == list(order)


@pytest.mark.parametrize("width", [140, 139, 80, 50, 40])
def test_sheet_fits_the_width(width: int) -> None:
    """No line is too long, and no control character of the learner's file is left."""
    shown = text(width)
    assert max(len(line) for line in shown.splitlines()) <= width
    assert "\x1b" not in shown
    assert "\x07" not in shown


def test_codes_are_side_by_side_from_140_columns_on() -> None:
    """On a narrower terminal the reference is below, because long lines of code would be broken."""
    assert [
        re.search(r"yours .*reference ", text(width)) is not None for width in (160, 140, 139, 80)
    ] == [True, True, False, False]


def test_code_is_readable_on_any_background() -> None:
    """Code uses the terminal's own colours. A fixed colour may be unreadable on white."""
    buffer = io.StringIO()
    Console(width=80, file=buffer, force_terminal=True, color_system="truecolor").print(
        render_sheet(SHEET, 80)
    )
    assert "right" in buffer.getvalue()
    assert "\x1b[38;2;" not in buffer.getvalue()


def test_sheet_without_questions_has_no_such_part() -> None:
    """A pack may have no questions, and there may be no advice."""
    sheet = replace(SHEET, questions=(), practise=())
    for shown in (text(80, sheet), score_sheet_page(sheet)):
        assert "uestions" not in shown
        assert "ratings" not in shown
        assert "ractise" not in shown


def test_chinese_answer_is_whole() -> None:
    """A text without blanks continues on the next line."""
    answer = "解码的一步计算很少、读取很多,所以瓶颈是显存带宽,不是算力。" * 3
    sheet = replace(SHEET, questions=(QuestionRow(FollowUp("one", 1, "为什么?", answer), 3),))
    for width in (50, 80):
        shown = text(width, sheet)
        assert "…" not in shown
        assert answer in "".join(shown.split())
