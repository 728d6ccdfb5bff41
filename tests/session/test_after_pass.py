"""The state after a pass: pages of other answers, mistakes and attempts, and rated questions."""

from dataclasses import replace
from pathlib import Path

import pytest

from attn_drill.model.lesson import Lesson, OtherAnswer
from attn_drill.packs.mistakes import read_mistakes
from attn_drill.packs.pack_reader import other_answers
from attn_drill.practice.facts import Diagnosed
from attn_drill.practice.journal import Journal
from attn_drill.practice.progress import rated_reviews
from attn_drill.session.after_pass import AfterPass, AttemptsPage, MistakesPage, after_pass
from tests.support.journal import attempt
from tests.support.session import GQA


@pytest.fixture
def journal(home: Path) -> Journal:
    """Return an empty journal."""
    return Journal(home)


def passed(source: str = "right") -> AfterPass:
    """Return the state after a pass of gqa."""
    return after_pass(GQA, source, "1 of 18 passed", "en")


def record(journal: Journal, *sources: str, mistakes: tuple[str, ...] = (), **more: object) -> None:
    """Record an attempt at gqa with each of these texts."""
    for source in sources:
        name = journal.add(attempt(**{**more, "source": source}))  # type: ignore[arg-type]
        journal.add(Diagnosed("gqa", 1.0, attempt=name, mistakes=mistakes, line=None))


def test_pages_are_all_answers_then_mistakes_then_attempts(journal: Journal) -> None:
    """The pages are there before the lesson, and keep their order with the lesson."""
    state = passed()
    names = [answer.name for answer in other_answers(GQA)]
    pages = state.pages(journal)
    assert [page.name for page in pages if isinstance(page, OtherAnswer)] == names
    assert [type(page) for page in pages[len(names) :]] == [MistakesPage, AttemptsPage]
    state.lesson = Lesson(others=(OtherAnswer("reference", "", "", "x"),))
    assert [type(page) for page in state.pages(journal)] == [
        OtherAnswer,
        MistakesPage,
        AttemptsPage,
    ]
    state.lesson = Lesson(is_measured=False)
    assert len(state.pages(journal)) == len(pages), "an answer that was not measured"


def test_own_mistakes_are_counted_and_left_out_of_the_known_mistakes(journal: Journal) -> None:
    """The most frequent comes first. A hunt plants mistakes that are not the learner's."""
    first, second, third, *_ = read_mistakes(GQA)
    record(journal, "a", mistakes=(first.id,))
    record(journal, "b", "c", mistakes=(second.id, "of-an-old-version"))
    record(journal, "d", mistakes=(third.id,), purpose="hunt")
    (page,) = [page for page in passed().pages(journal) if isinstance(page, MistakesPage)]
    assert page.own == ((second.says, 2), (first.says, 1))
    assert third.says in page.known
    assert not {first.says, second.says} & {*page.known}
    assert len(page.known) == 5


def test_last_attempts_count_equal_texts_once(journal: Journal) -> None:
    """At most four attempts are compared."""
    record(journal, "a", "b", "b", "c", "d")
    record(journal, "right", verdict="passed")
    (page,) = [page for page in passed().pages(journal) if isinstance(page, AttemptsPage)]
    assert [source for _, source in page.sources] == ["b", "c", "d", "right"]
    assert [words.split()[0] for words, _ in page.sources] == ["failed"] * 3 + ["passed"]


def test_rating_records_a_review_and_hides_the_next_answer(journal: Journal) -> None:
    """After the last question there is no question to rate."""
    state = passed()
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


def test_later_pass_goes_on_with_the_questions(journal: Journal) -> None:
    """A question that was rated is not asked again. An open question stays open."""
    earlier = passed("an earlier text")
    earlier.rate(2, journal, 1000.0)
    earlier.is_revealed = True
    later = passed()
    later.go_on_from(earlier)
    assert (later.question_index, later.is_revealed) == (1, True)
    assert (later.source, later.lesson, later.ratings) == ("right", None, {0: 2})


def test_pack_whose_files_are_broken_has_no_questions_and_no_answers(
    journal: Journal, tmp_path: Path
) -> None:
    """A pass is never lost because of the pack."""
    broken = replace(GQA, solutions=tmp_path / "none", folder=tmp_path / "none")
    state = after_pass(broken, "right", "", "en")
    assert state.questions == ()
    assert [type(page) for page in state.pages(journal)] == [AttemptsPage]
