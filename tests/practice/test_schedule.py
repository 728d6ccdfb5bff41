"""What a pass was worth, and when an item is due again."""

import itertools
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest
from fsrs import Card, Rating, Scheduler

from trainer.packs import pack_reader
from trainer.practice.journal import Review, Since
from trainer.practice.schedule import challenge_of, grade, item_of, items

DAY = 86_400.0


START = datetime(2026, 3, 1, 9, tzinfo=UTC).timestamp()


PAR = 1200.0


def review(day: float, rating: int, item: str = "challenge:gqa", name: str = "") -> Review:
    """One review, so many days after the start."""
    return Review(name or f"{item} {day} {rating}", item, START + day * DAY, rating, "")


GRADES = [
    pytest.param(
        Since(), 0.6 * PAR, 4, "12 of 20 min, no hint, 0 failed attempts", id="fast and alone"
    ),
    pytest.param(
        Since(failed=1),
        0.3 * PAR,
        4,
        "6 of 20 min, no hint, 1 failed attempt",
        id="one failure is allowed",
    ),
    pytest.param(
        Since(failed=2), 0.3 * PAR, 3, "6 of 20 min, no hint", id="two failures are not easy"
    ),
    pytest.param(Since(hint=1), 0.3 * PAR, 3, "6 of 20 min, 1 hint", id="a hint is not easy"),
    pytest.param(Since(), 0.61 * PAR, 3, "12 of 20 min, no hint", id="slower is not easy"),
    pytest.param(
        Since(hint=1, failed=7), 1.5 * PAR, 3, "30 of 20 min, 1 hint", id="the last that is good"
    ),
    pytest.param(Since(), 1.51 * PAR, 2, "30 of 20 min, no hint, 0 failed attempts", id="too slow"),
    pytest.param(
        Since(hint=2), 0.3 * PAR, 2, "6 of 20 min, 2 hints, 0 failed attempts", id="two hints"
    ),
    pytest.param(
        Since(failed=8), 0.3 * PAR, 2, "6 of 20 min, no hint, 8 failed attempts", id="many failures"
    ),
    pytest.param(Since(hint=3), 0.3 * PAR, 2, "all hints were taken, 6 of 20 min", id="all hints"),
    pytest.param(Since(solution=True), 0.1 * PAR, 1, "the solution was seen", id="the solution"),
    pytest.param(
        Since(solution=True, hint=3, failed=20),
        9 * PAR,
        1,
        "the solution was seen",
        id="the solution goes before all",
    ),
]


@pytest.mark.parametrize(("since", "seconds", "rating", "reason"), GRADES)
def test_grades(since: Since, seconds: float, rating: int, reason: str) -> None:
    """The evidence, the grade and its reason in words."""
    assert grade(since, seconds, PAR) == (rating, reason)


def test_more_evidence_against_never_gives_more() -> None:
    """A hint, a failure, a minute or the solution more never makes the grade better."""
    evidence = list(
        itertools.product((False, True), range(4), (0, 1, 2, 7, 8), (0.1, 0.6, 0.7, 1.5, 1.6))
    )
    grades = {
        one: grade(Since(solution=one[0], hint=one[1], failed=one[2]), one[3] * PAR, PAR)[0]
        for one in evidence
    }
    assert set(grades.values()) == {1, 2, 3, 4}
    for one, other in itertools.product(evidence, evidence):
        if all(less <= more for less, more in zip(one, other, strict=True)):
            assert grades[one] >= grades[other]


def test_a_challenge_without_par_time() -> None:
    """No par time, no reproach for the time."""
    assert grade(Since(), 1e6, 0.0)[0] == 4


def test_names_of_items() -> None:
    """A challenge's item leads back to it; a question's to none."""
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


def test_the_order_in_which_reviews_come_together_does_not_matter() -> None:
    """Every order gives the same day and the same strength, also of two at one moment."""
    found = {
        (one.due_at, one.strength, one.last.rating)
        for some in itertools.permutations(REVIEWS)
        for one in items(some, START + 30 * DAY).values()
    }
    assert len(found) == 1


def test_fsrs_numbers() -> None:
    """Due and strength are what fsrs itself says of the same reviews, after every one of them."""
    ratings = [(0, 3), (3, 4), (20, 1), (21, 3), (24, 2), (24.25, 3)]
    scheduler = Scheduler(learning_steps=(), relearning_steps=(), enable_fuzzing=False)
    card = Card(card_id=1)
    reviews: list[Review] = []
    for day, rating in ratings:
        at = datetime.fromtimestamp(START, UTC) + timedelta(days=day)
        card, _ = scheduler.review_card(card, Rating(rating), at)
        reviews.append(review(day, rating))
        now = at + timedelta(days=5)
        (found,) = items(reviews, now.timestamp()).values()
        assert found.due_at == card.due.timestamp()
        assert found.strength == scheduler.get_card_retrievability(card, now)
        assert 0 < found.strength < 1
        assert (found.reviews, found.last) == (len(reviews), reviews[-1])
        assert (found.due_at - reviews[-1].at) % DAY == 0, "whole days"


def test_the_first_review() -> None:
    """A better first grade is due later; the worst is due the next day."""
    waits = [
        (items([review(0, rating)], START)["challenge:gqa"].due_at - START) / DAY
        for rating in (1, 2, 3, 4)
    ]
    assert waits == sorted(waits)
    assert waits[0] == 1
    assert waits[1] < waits[2] < waits[3]


def test_a_lapse_shortens() -> None:
    """Who forgot comes again sooner than who knew, and sooner than he was to come before."""
    before = [review(0, 3), review(3, 3)]
    waits = {
        rating: items([*before, review(14, rating)], START)["challenge:gqa"].due_at
        - (START + 14 * DAY)
        for rating in (1, 2, 3, 4)
    }
    assert waits[1] < waits[2] < waits[3] < waits[4]
    assert waits[1] < items(before, START)["challenge:gqa"].due_at - (START + 3 * DAY)


def test_due_order() -> None:
    """The longest due first, equals by name; due all the day on which it comes back, and from then on."""
    reviews = [
        review(5, 1, "question:b"),
        review(5, 1, "question:a"),
        review(0, 3),
        review(0, 4, "challenge:mha"),
    ]
    found = items(reviews, START)
    assert list(found) == ["challenge:gqa", "question:a", "question:b", "challenge:mha"]
    due = found["question:a"].due_at
    assert due == START + 6 * DAY
    midnight = datetime.combine(datetime.fromtimestamp(due).date(), datetime.min.time()).timestamp()
    assert [
        found["question:a"].is_due(now)
        for now in (midnight - 1, midnight, due, due + 1, due + 5 * DAY)
    ] == [False, True, True, True, True]


def test_strength_falls_with_time() -> None:
    """Whole after a review, less and less later, and whole still where the clock is before it."""
    at = [
        items([review(10, 3)], START + day * DAY)["challenge:gqa"].strength
        for day in (0, 10, 11, 20, 400)
    ]
    assert at[0] == at[1] == 1.0
    assert at[1] > at[2] > at[3] > at[4] > 0


def test_no_reviews_no_fsrs() -> None:
    """Where nothing was reviewed nothing of fsrs is imported; where something was, no torch."""
    script = """
import sys
from trainer.practice.journal import Review
from trainer.practice.schedule import items
assert items([], 0.0) == {}
print("fsrs" in sys.modules, end=" ")
items([Review("a", "b", 0.0, 3, "")], 0.0)
print("fsrs" in sys.modules, "torch" in sys.modules, "numpy" in sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=pack_reader.TRAINER.parent,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["False", "True", "False", "False"]
