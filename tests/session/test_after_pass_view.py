"""The pages after a pass: the next line, notes, other answers, and follow-up questions."""

from dataclasses import replace

import pytest
from rich.console import RenderableType

from attn_drill.model.report import Lesson
from attn_drill.packs.mistakes import read_mistakes
from attn_drill.packs.pack_reader import other_answers
from attn_drill.practice.facts import Diagnosed
from attn_drill.practice.journal import Journal
from attn_drill.session._practice_model import AfterPass
from attn_drill.session._widgets import render_answers, render_lesson, render_questions
from tests.support.display import lines_of
from tests.support.journal import attempt
from tests.support.session import GQA

TITLES = ["the reference", *(answer.name for answer in other_answers(GQA)[1:])]
TITLES += ["mistakes", "your last attempts"]


def text_of(content: RenderableType, width: int = 80) -> str:
    """Return the page as text without line breaks. No line is wider than the screen."""
    lines = lines_of([content], width)
    assert max(map(len, lines)) <= width
    return " ".join(" ".join(lines).split())


def page(state: AfterPass, journal: Journal, title: str) -> str:
    """Return the page of the other answers with this title."""
    state.page_index = TITLES.index(title)
    return text_of(render_answers(state, journal, 160), 160)


def record(journal: Journal, *sources: str, mistakes: tuple[str, ...] = (), **more: object) -> None:
    """Record an attempt at gqa with each of these texts."""
    for source in sources:
        name = journal.add(attempt(**{**more, "source": source}))  # type: ignore[arg-type]
        journal.add(Diagnosed("gqa", 1.0, attempt=name, mistakes=mistakes, line=None))


@pytest.mark.parametrize("width", [50, 80, 160])
def test_notes_come_after_the_next_line(state: AfterPass, width: int) -> None:
    """Nothing of the pack is shown before a key, and the next line is there at once."""
    text = text_of(render_lesson(state), width)
    assert state.lesson is not None
    (note,) = state.lesson.notes
    assert text.startswith(state.next_line)
    assert text.index("What an interviewer would say") < text.index(note.says)
    assert "Question 1" not in text
    state.lesson = None
    assert text_of(render_lesson(state)) == f"{state.next_line} Your answer is being measured …"


@pytest.mark.parametrize("width", [50, 80, 160])
def test_every_page_of_the_other_answers_has_its_number(
    state: AfterPass, journal: Journal, width: int
) -> None:
    """The pages are there before the lesson, and keep their order with the lesson."""
    for lesson in (None, Lesson(is_measured=False), state.lesson):
        state.lesson = lesson
        for index, title in enumerate(TITLES):
            state.page_index = index
            text = text_of(render_answers(state, journal, width), width)
            assert text.startswith(f"{index + 1} of {len(TITLES)} {title} o shows the next page")


def test_own_mistakes_are_counted_and_left_out_of_the_known_mistakes(
    state: AfterPass, journal: Journal
) -> None:
    """The most frequent comes first. A hunt plants mistakes that are not the learner's."""
    first, second, third, *_ = (
        replace(mistake, says=mistake.says.replace("`", "")) for mistake in read_mistakes(GQA)
    )
    record(journal, "a", mistakes=(first.id,))
    record(journal, "b", "c", mistakes=(second.id, "of-an-old-version"))
    record(journal, "d", mistakes=(third.id,), purpose="hunt")
    text = page(state, journal, "mistakes")
    assert text.index(second.says) < text.index(first.says) < text.index(third.says)
    assert text.count(first.says) == text.count(second.says) == text.count(third.says) == 1


def test_last_attempts_count_equal_texts_once(state: AfterPass, journal: Journal) -> None:
    """At most four attempts are compared, each with the next."""
    record(journal, "aa", "bb", "bb", "cc", "dd")
    record(journal, "right", verdict="passed")
    text = page(state, journal, "your last attempts")
    assert "aa" not in text
    assert (text.count("failed "), text.count("passed ")) == (5, 1)


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
