"""The state after a pass: pages of other answers, mistakes and attempts, and rated questions."""

from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import RenderableType

from attn_drill.model.lesson import CallCost, Lesson, Note, OtherAnswer
from attn_drill.packs.mistakes import read_mistakes
from attn_drill.packs.pack_reader import other_answers
from attn_drill.practice.facts import Diagnosed
from attn_drill.practice.journal import Journal
from attn_drill.practice.progress import rated_reviews
from attn_drill.session.after_pass import AfterPass, after_pass
from attn_drill.session.after_pass_view import render_answers, render_lesson, render_questions
from tests.support.display import lines_of
from tests.support.journal import attempt
from tests.support.session import GQA, RIGHT

NEXT = "7 of 18 passed · next: mla (it builds on gqa) · comes back in 5 days · 14:05 of 20:00"
NOTE = Note(1, "This line copies repeated entries.", "It costs memory.")
TITLES = ["the reference", *(answer.name for answer in other_answers(GQA)[1:])]
TITLES += ["mistakes", "your last attempts"]


@pytest.fixture
def journal(home: Path) -> Journal:
    """Return an empty journal."""
    return Journal(home)


@pytest.fixture
def state() -> AfterPass:
    """Return the state after a pass, with a lesson."""
    after = after_pass(GQA, RIGHT, NEXT, "en")
    after.lesson = Lesson("a call", CallCost(14, 10**9, 1 << 20), (NOTE,), other_answers(GQA))
    return after


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
    state.lesson = Lesson(others=(OtherAnswer("reference", "", "", "x"),))
    assert [page.title for page in state.pages(journal)] == [TITLES[0], *TITLES[-2:]]


def test_own_mistakes_are_counted_and_left_out_of_the_known_mistakes(
    state: AfterPass, journal: Journal
) -> None:
    """The most frequent comes first. A hunt plants mistakes that are not the learner's."""
    first, second, third, *_ = (
        replace(m, says=m.says.replace("`", "")) for m in read_mistakes(GQA)
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


def test_rating_records_a_review_and_hides_the_next_answer(
    state: AfterPass, journal: Journal
) -> None:
    """After the last question there is no question to rate."""
    assert len(state.questions) > 1
    for index, question in enumerate(state.questions):
        assert (state.question, state.is_revealed) == (question, False)
        state.is_revealed = True
        state.rate(3 if index else 1, journal, 1000.0 + index)
    assert state.question is None
    state.rate(4, journal, 5000.0)
    reviews = rated_reviews(journal.facts(), "follow-up:")
    assert [(review.item, review.rating) for review in reviews] == [
        (question.item, 3 if index else 1) for index, question in enumerate(state.questions)
    ]
    assert state.ratings_in_words() == f"{len(state.questions) - 1} good, 1 again"


def test_later_pass_goes_on_with_the_questions(state: AfterPass, journal: Journal) -> None:
    """A question that was rated is not asked again. An open question stays open."""
    state.rate(2, journal, 1000.0)
    state.is_revealed = True
    later = after_pass(GQA, "right", "", "en")
    later.go_on_from(state)
    assert (later.question_index, later.is_revealed) == (1, True)
    assert (later.source, later.lesson, later.ratings) == ("right", None, {0: 2})


def test_pack_whose_files_are_broken_has_no_questions_and_no_answers(
    journal: Journal, tmp_path: Path
) -> None:
    """A pass is never lost because of the pack."""
    broken = replace(GQA, solutions=tmp_path / "none", folder=tmp_path / "none")
    state = after_pass(broken, "right", "", "en")
    assert state.questions == ()
    assert [page.title for page in state.pages(journal)] == ["your last attempts"]


@pytest.mark.parametrize("width", [50, 80, 160])
def test_notes_come_after_the_next_line(state: AfterPass, width: int) -> None:
    """Nothing of the pack is shown before a key, and the next line is there at once."""
    text = text_of(render_lesson(state), width)
    assert text.startswith(NEXT)
    assert text.index("What an interviewer would say") < text.index(NOTE.says)
    assert "Question 1" not in text
    state.lesson = None
    assert text_of(render_lesson(state)) == f"{NEXT} Your answer is being measured …"


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
