"""Tests of the grade of a pass and of the next due date."""

import itertools
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest
from fsrs import Card, Rating, Scheduler

from attn_drill.practice.facts import Reviewed
from attn_drill.practice.progress import SinceStart
from attn_drill.practice.schedule import (
    challenge_of,
    grade,
    item_of,
    items,
)
from tests.support.paths import SOURCE

DAY = 86_400.0

START = datetime(2026, 3, 1, 9, tzinfo=UTC).timestamp()

PAR = 1200.0


def review(day: float, rating: int, item: str = "challenge:gqa", name: str = "") -> Reviewed:
    """Return a review that was made `day` days after the start."""
    return Reviewed(item, START + day * DAY, name or f"{item} {day} {rating}", rating=rating)


GRADES = {
    "fast and without help": (SinceStart(), 0.6, 4, "12 of 20 min, no hint, 0"),
    "one failure is allowed": (SinceStart(failed=1), 0.3, 4, "6 of 20 min, no hint, 1"),
    "two failures are not easy": (SinceStart(failed=2), 0.3, 3, "6 of 20 min, no hint, 2"),
    "a hint is not easy": (SinceStart(hint=1), 0.3, 3, "6 of 20 min, 1 hint, 0"),
    "slower is not easy": (SinceStart(), 0.61, 3, "12 of 20 min, no hint, 0"),
    "just good": (SinceStart(hint=1, failed=7), 1.5, 3, "30 of 20 min, 1 hint, 7"),
    "too slow": (SinceStart(), 1.51, 2, "30 of 20 min, no hint, 0"),
    "two hints": (SinceStart(hint=2), 0.3, 2, "6 of 20 min, 2 hints, 0"),
    "many failures": (SinceStart(failed=8), 0.3, 2, "6 of 20 min, no hint, 8"),
    "all hints": (SinceStart(hint=3), 0.3, 2, "6 of 20 min, all hints, 0"),
    "the solution": (
        SinceStart(solution=True),
        0.1,
        1,
        "the solution was seen, 2 of 20 min, no hint, 0",
    ),
    "the solution counts before everything else": (
        SinceStart(solution=True, hint=3, failed=20),
        9.0,
        1,
        "the solution was seen, 180 of 20 min, all hints, 20",
    ),
}


@pytest.mark.parametrize(("since", "share", "rating", "reason"), GRADES.values(), ids=GRADES)
def test_grade_has_a_reason_in_words(
    since: SinceStart, share: float, rating: int, reason: str
) -> None:
    """The evidence, with a share of the par time, gives this grade and this reason."""
    rating_of_pass, words = grade(since, share * PAR, PAR)
    assert (rating_of_pass, words.partition(" failed attempt")[0]) == (rating, reason)


def test_more_help_never_gives_a_better_grade() -> None:
    """Another hint, failure or minute, or the solution, never makes the grade better."""
    evidence = list(
        itertools.product((False, True), range(4), (0, 1, 2, 7, 8), (0.1, 0.6, 0.7, 1.5, 1.6))
    )
    grades = {
        (solution, hint, failed, share): grade(
            SinceStart(solution=solution, hint=hint, failed=failed), share * PAR, PAR
        )[0]
        for solution, hint, failed, share in evidence
    }
    assert set(grades.values()) == {1, 2, 3, 4}
    for less, more in itertools.product(evidence, evidence):
        if all(low <= high for low, high in zip(less, more, strict=True)):
            assert grades[less] >= grades[more]


def test_challenge_without_par_time_ignores_the_time() -> None:
    """A very long time still gives the best grade."""
    assert grade(SinceStart(), 1e6, 0.0)[0] == 4


def test_item_of_a_challenge_has_its_id() -> None:
    """An item of a question or a line has no challenge id."""
    assert challenge_of(item_of("gqa")) == "gqa"
    assert challenge_of("question:gqa") is None
    assert challenge_of("line:gqa:no-scale") is None


REVIEWS = [
    review(0, 3),
    review(4, 3),
    review(15, 1),
    review(16, 2),
    review(16, 4, name="the same moment"),
]


def test_order_of_reviews_does_not_matter() -> None:
    """Every order gives the same due date and strength, even for two reviews at the same time."""
    results = {
        (item.due_at, item.strength, item.last.rating)
        for reviews in itertools.permutations(REVIEWS)
        for item in items(reviews, START + 30 * DAY).values()
    }
    assert len(results) == 1


def test_due_date_and_strength_agree_with_fsrs() -> None:
    """They are equal to those of fsrs after each of the reviews."""
    ratings = [(0, 3), (3, 4), (20, 1), (21, 3), (24, 2), (24.25, 3)]
    scheduler = Scheduler(learning_steps=(), relearning_steps=(), enable_fuzzing=False)
    card = Card(card_id=1)
    reviews: list[Reviewed] = []
    for day, rating in ratings:
        at = datetime.fromtimestamp(START, UTC) + timedelta(days=day)
        card, _ = scheduler.review_card(card, Rating(rating), at)
        reviews.append(review(day, rating))
        now = at + timedelta(days=5)
        (item,) = items(reviews, now.timestamp()).values()
        assert item.due_at == card.due.timestamp()
        assert item.strength == scheduler.get_card_retrievability(card, now)
        assert 0 < item.strength < 1
        assert (item.reviews, item.last) == (len(reviews), reviews[-1])
        assert (item.due_at - reviews[-1].at) % DAY == 0, "whole days"


def test_better_first_grade_is_due_later() -> None:
    """After the worst grade, the item is due the next day."""
    waits = [
        (items([review(0, rating)], START)["challenge:gqa"].due_at - START) / DAY
        for rating in (1, 2, 3, 4)
    ]
    assert waits == sorted(waits)
    assert waits[0] == 1
    assert waits[1] < waits[2] < waits[3]


def test_lapse_shortens_the_interval() -> None:
    """The item is due sooner than after a better grade, and sooner than after the review before."""
    before = [review(0, 3), review(3, 3)]
    waits = {
        rating: items([*before, review(14, rating)], START)["challenge:gqa"].due_at
        - (START + 14 * DAY)
        for rating in (1, 2, 3, 4)
    }
    assert waits[1] < waits[2] < waits[3] < waits[4]
    assert waits[1] < items(before, START)["challenge:gqa"].due_at - (START + 3 * DAY)


def test_items_are_sorted_by_due_date() -> None:
    """Items with the same date are sorted by name. An item is due from midnight of its date on."""
    reviews = [
        review(5, 1, "question:b"),
        review(5, 1, "question:a"),
        review(0, 3),
        review(0, 4, "challenge:mha"),
    ]
    scheduled = items(reviews, START)
    assert list(scheduled) == ["challenge:gqa", "question:a", "question:b", "challenge:mha"]
    due = scheduled["question:a"].due_at
    assert due == START + 6 * DAY
    midnight = datetime.combine(datetime.fromtimestamp(due).date(), datetime.min.time()).timestamp()
    assert [
        scheduled["question:a"].is_due(now)
        for now in (midnight - 1, midnight, due, due + 1, due + 5 * DAY)
    ] == [False, True, True, True, True]


def test_strength_falls_with_time() -> None:
    """The strength is 1 after a review, and also before it, if the clock went backwards."""
    at = [
        items([review(10, 3)], START + day * DAY)["challenge:gqa"].strength
        for day in (0, 10, 11, 20, 400)
    ]
    assert at[0] == at[1] == 1.0
    assert at[1] > at[2] > at[3] > at[4] > 0


def test_fsrs_is_imported_only_for_reviews() -> None:
    """torch and numpy are never imported."""
    script = """
import sys
from attn_drill.practice.facts import Reviewed
from attn_drill.practice.schedule import items
assert items([], 0.0) == {}
print("fsrs" in sys.modules, end=" ")
items([Reviewed("b", 0.0, rating=3)], 0.0)
print("fsrs" in sys.modules, "torch" in sys.modules, "numpy" in sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=SOURCE,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["False", "True", "False", "False"]
