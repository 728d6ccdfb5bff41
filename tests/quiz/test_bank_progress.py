"""Tests of the learner's progress through the question bank."""

from attn_drill.practice.facts import Reviewed
from attn_drill.practice.schedule import items
from attn_drill.quiz.bank_progress import BankProgress, bank_progress
from attn_drill.quiz.question_order import QuestionPool
from tests.support.quiz import DAY, POOL

NOW = 200.5 * DAY


def progress_of(*reviews: tuple[str, float, int]) -> BankProgress:
    """Return the progress after reviews: an item, the days before now, and a rating."""
    reviewed = items(
        [Reviewed(item, NOW - days * DAY, item, rating=rating) for item, days, rating in reviews],
        NOW,
    )
    return bank_progress(POOL, reviewed, NOW)


def test_nothing_is_known_at_first() -> None:
    """The totals are the sizes of the pool."""
    assert progress_of() == BankProgress(0, len(POOL.questions), 0, len(POOL.lines), 0)


def test_known_is_answered_right_and_not_due() -> None:
    """A wrong answer is not known, even before it is due. Other items do not count."""
    question, other, third = list(POOL.questions)[:3]
    line = next(iter(POOL.lines))
    progress = progress_of(
        (question, 0.1, 3),
        (other, 100, 3),
        (third, 0.1, 1),
        (line, 0.1, 3),
        ("question:of-another-pack", 0.1, 3),
        ("challenge:gqa", 100, 3),
    )
    assert (progress.known_questions, progress.known_lines, progress.due) == (1, 1, 1)


def test_empty_pool_has_no_progress() -> None:
    """A pack may have no questions."""
    assert bank_progress(QuestionPool({}, {}), {}, NOW) == BankProgress(0, 0, 0, 0, 0)
