"""The quiz: what is asked and when, what is right, and the command as a user meets it."""

from collections import Counter
from collections.abc import Mapping
from random import Random

import pytest

from tests.support.quiz import CHALLENGES, DAY, NAMES, POOL
from trainer.model.errors import DrillError
from trainer.practice.journal import Review
from trainer.practice.schedule import ScheduledItem, items
from trainer.quiz.question_order import QuestionPool, about, order


def reviewed(*names: str, now: float) -> Mapping[str, ScheduledItem]:
    """Items that were answered rightly, the first the longest ago, a day apart, so that they come due one after the other."""
    return items(
        [Review(name, name, now - DAY * (100 - index), 3, "") for index, name in enumerate(names)],
        now,
    )


def test_due_ones_come_first() -> None:
    """The longest due first, then new ones; what is not due yet does not come, and nothing comes twice."""
    old = list(POOL.questions)[5:8]
    fresh = list(POOL.lines)[3]
    known = {
        **reviewed(*old, "question:of-another-pack", now=200 * DAY),
        **items([Review("x", fresh, 199.9 * DAY, 3, "")], 200 * DAY),
    }
    assert [known[name].is_due(200 * DAY) for name in (*old, fresh)] == [True, True, True, False]
    for seed in range(20):
        found = order(POOL, known, 200 * DAY, 10, Random(seed))
        assert found[:3] == old
        assert len(found) == len(set(found)) == 10
        assert fresh not in found
    assert order(POOL, known, 200 * DAY, 2, Random(0)) == old[:2]


def test_what_is_not_due_comes_only_where_nothing_else_is_left() -> None:
    """Then the one that is due first comes first."""
    names = list(POOL.questions)[:3]
    pool = QuestionPool({name: POOL.questions[name] for name in names}, {})
    known = items(
        [
            Review(name, name, 10 * DAY, rating, "")
            for name, rating in zip(names, (4, 1, 3), strict=True)
        ],
        10 * DAY,
    )
    assert (
        order(pool, {name: known[name] for name in names[:2]}, 10 * DAY, 5, Random(0)) == names[2:]
    )
    assert order(pool, known, 10 * DAY, 5, Random(0)) == [names[1], names[2], names[0]]
    assert order(pool, known, 10 * DAY, 1, Random(0)) == [names[1]]
    assert order(QuestionPool({}, {}), known, 10 * DAY, 5, Random(0)) == []


def test_new_ones_are_mixed() -> None:
    """A quarter are lines; every topic and every challenge has its turn; where one kind runs out, the other fills up."""
    kinds: Counter[str] = Counter()
    topics: Counter[str] = Counter()
    challenges: Counter[str] = Counter()
    places: Counter[int] = Counter()
    for seed in range(300):
        for place, name in enumerate(order(POOL, {}, 0.0, 10, Random(seed))):
            kind, who, *_ = name.split(":")
            kinds[kind] += 1
            if kind == "line":
                challenges[who] += 1
                places[place] += 1
            else:
                topics[POOL.questions[name].topic] += 1
    assert 0.2 < kinds["line"] / 3000 < 0.3
    assert len(places) == 10
    assert min(places.values()) > 40
    assert set(challenges) == {one.id for one in CHALLENGES}
    assert min(topics.values()) > 0.6 * max(topics.values())
    two = dict(list(POOL.questions.items())[:2])
    assert len(order(QuestionPool(two, POOL.lines), {}, 0.0, 10, Random(0))) == 10
    assert len(order(QuestionPool(POOL.questions, {}), {}, 0.0, 10, Random(0))) == 10
    assert order(POOL, {}, 0.0, 10, Random(7)) == order(POOL, {}, 0.0, 10, Random(7))


def test_topics() -> None:
    """A file of the bank with the lines of its challenges; a challenge with what follows it up and its own lines."""
    topic = about(NAMES, POOL, "Sharing")
    assert {one.topic for one in topic.questions.values()} == {"sharing"}
    assert {one.topic for one, _ in topic.lines.values()} == {"sharing"}
    challenge = about(NAMES, POOL, "gqa_kv_cache")
    assert all("gqa-kv-cache" in one.challenges for one in challenge.questions.values())
    assert {one.id for one, _ in challenge.lines.values()} == {"gqa-kv-cache"}
    assert challenge.questions
    with pytest.raises(DrillError, match="Did you mean sharing"):
        about(NAMES, POOL, "shareing")
    with pytest.raises(DrillError, match="There are: attention"):
        about(NAMES, POOL, "zzz")
