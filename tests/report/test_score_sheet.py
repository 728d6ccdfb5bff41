"""The score sheet in the terminal and as a page: complete, narrow where it must be, and nothing of the learner's gets out of its place."""

import io
import re
from dataclasses import replace

import pytest
from rich.console import Console

from tests.support.html_page import Page
from tests.support.score_sheet import CHOICE, NUMBER, SHEET
from trainer.interview.score import QuestionRow, ScoreSheet
from trainer.quiz.drawn_questions import DrawnQuestion
from trainer.report.score_sheet import given_in_words, render, show
from trainer.report.score_sheet_page import to_html


def text(width: int, sheet: ScoreSheet = SHEET, *, unicode: bool = True) -> str:
    """The sheet as it is shown in so many columns."""
    console = Console(width=width, file=io.StringIO(), highlight=False, emoji=False)
    with console.capture() as capture:
        console.print(render(sheet, width, unicode=unicode))
    return capture.get()


@pytest.mark.parametrize("width", [None, 120, 100, 99, 80, 50])
def test_all_of_it_is_there(width: int | None) -> None:
    """On the page, and in so many columns: score, rules, verdicts, checks, times, help, both codes, answers and explanations, what to practise."""
    shown = Page(to_html(SHEET)).text if width is None else text(width)
    assert len(re.findall(r"\bvalue\b", shown)) == 30, "the long line is whole"
    words = " ".join(shown.split())
    for part in (
        *(
            "44 of 100",
            "40.5 of 60",
            "3.0 of 15",
            "the rule of <correctness>",
            "PASSED",
            "FAILED",
            "NOTHING HANDED IN",
        ),
        *(
            "12 of 12 checks passed",
            "2 check runs",
            "1 hint",
            "2 mistakes asked for",
            "the reference was looked at",
            "values, masks",
        ),
        *("10:00", "13:20", "30:00", "47:10", "45:00", "6:40 overtime", "2:10 overtime"),
        *(
            "right = 1",
            "ref_one",
            "ref_two",
            "ref_three",
            "<it> was gone",
            "Which <b>one</b>?",
            "k = <k>",
            "a) first",
            "b) the & second",
            "Because 1 < 2.",
        ),
        *("12 <MiB>", "not answered", "attn-drill start two"),
    ):
        assert part in words


@pytest.mark.parametrize("width", [120, 100, 80, 50, 40])
def test_it_fits(width: int) -> None:
    """No line is wider than the terminal, whatever the learner wrote, and nothing moves the cursor."""
    shown = text(width)
    assert max(len(line) for line in shown.splitlines()) <= width
    assert "\x1b" not in shown
    assert "\x07" not in shown


def test_side_by_side_where_there_is_room() -> None:
    """Two columns from 100 on, one below the other under that."""
    assert [
        re.search(r"yours .*reference ", text(width)) is not None for width in (130, 100, 99, 80)
    ] == [True, True, False, False]


def test_code_is_readable_on_any_background() -> None:
    """Code uses the terminal's own colours: the text colour of a dark theme is lost on white."""
    buffer = io.StringIO()
    Console(width=80, file=buffer, force_terminal=True, color_system="truecolor").print(
        render(SHEET, 80)
    )
    assert "right" in buffer.getvalue()
    assert "\x1b[38;2;" not in buffer.getvalue()


def test_another_encoding() -> None:
    """In ASCII every character is one of it, and the numbers are the same."""
    buffer = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    show(SHEET, buffer)
    buffer.flush()
    shown = buffer.buffer.getvalue().decode("ascii")  # type: ignore[attr-defined]
    assert "44 of 100" in shown
    assert text(80, unicode=False).isascii()


def test_without_questions() -> None:
    """A pack without a bank has a sheet all the same."""
    bare = replace(SHEET, questions=(), practise=())
    for shown in (text(80, bare), to_html(bare)):
        assert "uestions" not in shown
        assert "ractise" not in shown


@pytest.mark.parametrize(
    ("asked", "given", "words"),
    [
        (CHOICE, "b", "b) the & second"),
        (CHOICE, "(B)", "b) the & second"),
        (CHOICE, "z", "z"),
        (CHOICE, "?", "not known"),
        (CHOICE, None, "not answered"),
        (NUMBER, "b", "b"),
    ],
)
def test_an_answer_in_words(asked: DrawnQuestion, given: str | None, words: str) -> None:
    """A letter comes with what it stands for."""
    assert given_in_words(QuestionRow(asked, given, False)) == words
