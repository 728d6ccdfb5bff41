"""Tests of the choice and order of questions."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from attn_drill.exercises.questions import QuestionPool, known_name, order_items, pool_of
from attn_drill.model.errors import DrillError, PackError
from attn_drill.packs.mistakes import read_mistakes
from attn_drill.practice.facts import Reviewed
from attn_drill.practice.schedule import ScheduledItem, items
from tests.support.exercises import CHALLENGES, DAY, NAMES, POOL


def reviewed(*names: str, now: float) -> Mapping[str, ScheduledItem]:
    """Return items that were answered right, one day apart, the first 100 days before now.

    They become due one after the other.
    """
    return items(
        [
            Reviewed(name, now - DAY * (100 - index), name, rating=3)
            for index, name in enumerate(names)
        ],
        now,
    )


def test_due_items_come_before_new_items() -> None:
    """The longest due item is first. Items that are not due, and repeated items, do not occur."""
    old = list(POOL.questions)[5:8]
    fresh = list(POOL.lines)[3]
    known = {
        **reviewed(*old, "question:of-another-pack", now=200 * DAY),
        **items([Reviewed(fresh, 199.9 * DAY, "x", rating=3)], 200 * DAY),
    }
    assert [known[name].is_due(200 * DAY) for name in (*old, fresh)] == [True, True, True, False]
    for seed in range(20):
        chosen = order_items(POOL, known, 200 * DAY, 10, Random(seed))
        assert chosen[:3] == old
        assert len(chosen) == len(set(chosen)) == 10
        assert fresh not in chosen
    assert order_items(POOL, known, 200 * DAY, 2, Random(0)) == old[:2]


def test_items_that_are_not_due_come_only_without_other_items() -> None:
    """The item that becomes due first is first."""
    names = list(POOL.questions)[:3]
    pool = QuestionPool({name: POOL.questions[name] for name in names}, {})
    known = items(
        [
            Reviewed(name, 10 * DAY, name, rating=rating)
            for name, rating in zip(names, (4, 1, 3), strict=True)
        ],
        10 * DAY,
    )
    assert (
        order_items(pool, {name: known[name] for name in names[:2]}, 10 * DAY, 5, Random(0))
        == names[2:]
    )
    assert order_items(pool, known, 10 * DAY, 5, Random(0)) == [names[1], names[2], names[0]]
    assert order_items(pool, known, 10 * DAY, 1, Random(0)) == [names[1]]
    assert order_items(QuestionPool({}, {}), known, 10 * DAY, 5, Random(0)) == []


@pytest.mark.thorough
def test_new_items_are_mixed() -> None:
    """A quarter are lines.

    All topics and challenges occur. If challenge kind runs out, the other kind fills up.
    """
    kinds: Counter[str] = Counter()
    topics: Counter[str] = Counter()
    challenges: Counter[str] = Counter()
    positions: Counter[int] = Counter()
    for seed in range(300):
        for position, name in enumerate(order_items(POOL, {}, 0.0, 10, Random(seed))):
            kind, challenge_id, *_ = name.split(":")
            kinds[kind] += 1
            if kind == "line":
                challenges[challenge_id] += 1
                positions[position] += 1
            else:
                topics[POOL.questions[name].topic] += 1
    assert 0.2 < kinds["line"] / 3000 < 0.3
    assert len(positions) == 10
    assert min(positions.values()) > 40
    assert set(challenges) == {challenge.id for challenge in CHALLENGES}
    assert min(topics.values()) > 0.6 * max(topics.values())
    two = dict(list(POOL.questions.items())[:2])
    assert len(order_items(QuestionPool(two, POOL.lines), {}, 0.0, 10, Random(0))) == 10
    assert len(order_items(QuestionPool(POOL.questions, {}), {}, 0.0, 10, Random(0))) == 10
    assert order_items(POOL, {}, 0.0, 10, Random(7)) == order_items(POOL, {}, 0.0, 10, Random(7))


def test_questions_about_a_topic_or_a_challenge() -> None:
    """A topic has its file and the lines of its challenges.

    A challenge has its follow-ups and lines.
    """
    topic = POOL.about(known_name(NAMES, "Sharing"))
    assert {question.topic for question in topic.questions.values()} == {"sharing"}
    assert {lines_of.topic for lines_of, _ in topic.lines.values()} == {"sharing"}
    challenge = POOL.about(known_name(NAMES, "gqa_kv_cache"))
    assert all("gqa-kv-cache" in question.challenges for question in challenge.questions.values())
    assert {lines_of.id for lines_of, _ in challenge.lines.values()} == {"gqa-kv-cache"}
    assert challenge.questions
    with pytest.raises(DrillError, match="Did you mean sharing"):
        known_name(NAMES, "shareing")
    with pytest.raises(DrillError, match="There are: attention"):
        known_name(NAMES, "zzz")


def test_lines_are_mistakes_that_a_person_would_write() -> None:
    """A contrived line, such as `if False:`, is no question."""
    gqa = next(challenge for challenge in CHALLENGES if challenge.id == "gqa")
    mistakes = read_mistakes(gqa)
    likely = [mistake for mistake in mistakes if not mistake.contrived]
    assert [mistake for challenge, mistake in POOL.lines.values() if challenge == gqa] == likely
    assert 0 < len(likely) < len(mistakes)


def test_challenge_without_a_reference_keeps_its_lines(tmp_path: Path) -> None:
    """The quiz reports the missing file when it asks for such a line."""
    broken = replace(CHALLENGES[0], solutions=tmp_path)
    mistakes = read_mistakes(CHALLENGES[0])[:1]
    pool = pool_of((), [broken], {broken.id: mistakes})
    assert [mistake for _, mistake in pool.lines.values()] == list(mistakes)
    with pytest.raises(PackError):
        pool.ask(next(iter(pool.lines)), Random(0))
