"""The page after a pass: the next line, notes, other answers, and follow-up questions."""

from pathlib import Path

import pytest
from rich.console import RenderableType

from attn_drill.model.lesson import CallCost, Lesson, Note
from attn_drill.packs.pack_reader import other_answers
from attn_drill.practice.journal import Journal
from attn_drill.session.after_pass import AfterPass, after_pass
from attn_drill.session.after_pass_view import render_answers, render_lesson, render_questions
from tests.support.display import lines_of
from tests.support.session import GQA, RIGHT

NEXT = "7 of 18 passed · next: mla (it builds on gqa) · comes back in 5 days · 14:05 of 20:00"
NOTE = Note(1, "This line copies repeated entries.", "It costs memory.")


@pytest.fixture
def journal(home: Path) -> Journal:
    """Return an empty journal."""
    return Journal(home)


@pytest.fixture
def state() -> AfterPass:
    """Return the state after a pass, with a lesson."""
    found = after_pass(GQA, RIGHT, NEXT, "en")
    found.lesson = Lesson("a call", CallCost(14, 10**9, 1 << 20), (NOTE,), other_answers(GQA))
    return found


def text_of(content: RenderableType, width: int = 80) -> str:
    """Return the page as text without line breaks. No line is wider than the screen."""
    lines = lines_of([content], width)
    assert max(map(len, lines)) <= width
    return " ".join(" ".join(lines).split())


@pytest.mark.parametrize("width", [50, 80, 160])
def test_notes_come_after_the_next_line(state: AfterPass, width: int) -> None:
    """Nothing of the pack is shown before a key."""
    text = text_of(render_lesson(state), width)
    assert text.startswith(NEXT)
    assert text.index("What an interviewer would say") < text.index(NOTE.says)
    assert "Question 1" not in text


def test_page_says_that_the_measurement_is_running(state: AfterPass) -> None:
    """The next line is there at once."""
    state.lesson = None
    assert text_of(render_lesson(state)) == f"{NEXT} Your answer is being measured …"


@pytest.mark.parametrize("width", [50, 80, 160])
def test_every_page_of_the_other_answers_has_its_number(
    state: AfterPass, journal: Journal, width: int
) -> None:
    """The titles are the names of the answers, then mistakes and attempts."""
    pages = state.pages(journal)
    titles = ["the reference", *(answer.name for answer in other_answers(GQA)[1:])]
    for index, title in enumerate([*titles, "mistakes", "your last attempts"]):
        state.page_index = index
        text = text_of(render_answers(state, journal, width), width)
        assert text.startswith(f"{index + 1} of {len(pages)} {title} o shows the next page")


def test_pages_can_be_read_during_the_measurement(state: AfterPass, journal: Journal) -> None:
    """The costs come with the lesson."""
    state.lesson = None
    assert "the reference" in text_of(render_answers(state, journal, 80))


@pytest.mark.parametrize("width", [50, 80, 160])
def test_answer_of_a_question_is_shown_after_the_key(
    state: AfterPass, journal: Journal, width: int
) -> None:
    """Then the next question comes without its answer, and the ratings at the end."""
    count = len(state.questions)
    for number, question in enumerate(state.questions, start=1):
        first_words = " ".join(question.answer.replace("`", "").split()[:6])
        hidden = text_of(render_questions(state), width)
        assert f"Question {number} of {count}" in hidden
        assert first_words not in hidden
        state.is_revealed = True
        assert first_words in text_of(render_questions(state), width)
        state.rate(3, journal, 1000.0)
    assert f"All {count} follow-up questions are rated: {count} good." in text_of(
        render_questions(state)
    )


def test_pack_without_answers_says_so(state: AfterPass) -> None:
    """The key f shows this page only if a pack has changed meanwhile."""
    state.questions = ()
    assert text_of(render_questions(state)) == "The pack has no answers to follow-up questions."
