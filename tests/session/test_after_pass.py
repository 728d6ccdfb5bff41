"""The state after a pass: pages of other answers, and rated questions."""

from dataclasses import replace
from pathlib import Path

from rich.text import Text

from attn_drill.model.challenge import OtherAnswer
from attn_drill.model.report import Lesson
from attn_drill.practice.journal import Journal
from attn_drill.practice.progress import rated_reviews
from attn_drill.session._practice_model import AfterPass, after_pass
from attn_drill.session._widgets import render_questions
from tests.support.session import GQA


def test_measured_answers_take_the_place_of_the_files(state: AfterPass, journal: Journal) -> None:
    """The pages of mistakes and attempts stay."""
    state.lesson = Lesson(others=(OtherAnswer("reference", "", "", "x"),))
    titles = [page.title for page in state.pages(journal)]
    assert titles == ["the reference", "mistakes", "your last attempts"]


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
    shown = render_questions(state)
    assert isinstance(shown, Text)
    assert f"{len(state.questions) - 1} good, 1 again." in shown.plain


def test_later_pass_goes_on_with_the_questions(state: AfterPass, journal: Journal) -> None:
    """A question that was rated is not asked again. An open question stays open."""
    state.rate(2, journal, 1000.0)
    state.is_revealed = True
    later = after_pass(GQA, "right", "", "en", state)
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
