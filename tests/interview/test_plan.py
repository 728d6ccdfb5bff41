"""A mock interview: its plan, its state, its score, and the command without a screen."""

import json
from dataclasses import asdict, replace

import pytest

from tests.support.interview import BUILT_IN, BY_ID, CHALLENGES
from trainer.interview.plan import (
    InterviewPlan,
    draw_questions,
    familiarity,
    main_problems,
    make_plan,
    plan_from,
    prerequisites,
)
from trainer.model.attempt import Attempt
from trainer.model.errors import DrillError
from trainer.packs.question_bank import read_questions, read_topics
from trainer.practice.journal import Review
from trainer.practice.schedule import item_of, items

QUESTIONS = read_questions(BUILT_IN)


TOPICS = read_topics(BUILT_IN)


BEFORE = prerequisites(CHALLENGES)


WANTED = [None, *sorted({one.topic for one in CHALLENGES}), *BY_ID]


def planned(
    minutes: int = 45,
    wanted: str | None = None,
    seed: int = 1,
    known_items: dict[str, float] | None = None,
) -> InterviewPlan:
    """Return the plan of an interview."""
    return make_plan(
        CHALLENGES,
        QUESTIONS,
        minutes,
        main_problems(CHALLENGES, TOPICS, wanted),
        known_items or {},
        seed,
    )


@pytest.mark.parametrize("minutes", [5, 15, 25, 40, 45, 60, 90, 240])
@pytest.mark.parametrize("wanted", WANTED, ids=str)
def test_plan_fits(wanted: str | None, minutes: int) -> None:
    """Every topic and challenge gives a main problem, a follow-up on it if there is one, and a
    warm-up that needs neither, all within the time."""
    for seed in range(5):
        made = planned(minutes, wanted, seed)
        by_role = {stage.role: BY_ID[stage.challenge] for stage in made.stages}
        assert len(by_role) == len({stage.challenge for stage in made.stages}) == len(made.stages)
        main = by_role["main problem"]
        assert wanted in (None, main.id, main.topic)
        assert (
            len(made.stages) == 1 or sum(one.minutes for one in by_role.values()) <= 1.2 * minutes
        )
        if follow_up := by_role.get("follow-up"):
            later = {one.id for one in CHALLENGES if main.id in BEFORE[one.id]}
            assert follow_up.id in later if later else follow_up.id not in BEFORE[main.id]
        if warm_up := by_role.get("warm-up"):
            assert warm_up.level == "easy" or warm_up.minutes <= 15
            assert warm_up.minutes <= main.minutes
            assert not {main.id, getattr(follow_up, "id", "")} & BEFORE[warm_up.id]
        assert [stage.role for stage in made.stages] == [
            role for role in ("warm-up", "main problem", "follow-up") if role in by_role
        ]
        assert sum(stage.seconds for stage in made.stages) + made.question_seconds == pytest.approx(
            60 * minutes
        )
        assert min(stage.seconds for stage in made.stages) > 0


@pytest.mark.parametrize("minutes", [5, 30, 60, 240])
@pytest.mark.parametrize("wanted", WANTED, ids=str)
def test_questions_follow_up_the_problems(wanted: str | None, minutes: int) -> None:
    """There are three to five different questions; those on the problems come first."""
    made = planned(minutes, wanted)
    chosen = {stage.challenge for stage in made.stages}
    fitting = {one.id for one in QUESTIONS if chosen & set(one.challenges)}
    topics = {BY_ID[name].topic for name in chosen}
    assert 3 <= len(made.questions) <= 5
    assert len(set(made.questions)) == len(made.questions)
    others = [one for one in QUESTIONS if one.id in made.questions and one.id not in fitting]
    assert not others or (
        all(one.topic in topics for one in others) and fitting <= set(made.questions)
    )


def test_minutes_decide_how_many_problems() -> None:
    """A quarter of an hour has one problem, an hour has three."""
    assert [len(planned(minutes).stages) for minutes in (5, 15, 30, 60, 120)] == [1, 1, 2, 3, 3]


def test_seed_decides() -> None:
    """The same seed gives the same interview; other seeds give others."""
    assert planned(seed=7) == planned(seed=7)
    assert (
        len({tuple(stage.challenge for stage in planned(seed=seed).stages) for seed in range(20)})
        > 4
    )


def test_known_items_are_avoided() -> None:
    """Among problems that fit equally well the unknown one is chosen; the same for questions."""
    alike = [one.id for one in CHALLENGES if one.minutes == 15]
    for new in alike:
        familiar = {item_of(one): 1.0 for one in alike if one != new}
        assert planned(15, known_items=familiar).stages[0].challenge == new
    first = planned(15, alike[0])
    again = planned(15, alike[0], known_items={f"question:{name}": 1.0 for name in first.questions})
    assert not set(first.questions) & set(again.questions)


def test_familiarity() -> None:
    """A pass fades within a month, a failure counts for nothing, a due item is not known."""
    day = 86400.0

    def tried(name: str, when: float, verdict: str = "passed") -> Attempt:
        return Attempt(name, when, 1, verdict, 1, 1, "")  # type: ignore[arg-type]

    now = 100 * day
    reviewed = items(
        [Review("1", "challenge:due", 0.0, 3, ""), Review("2", "challenge:new", now - 60, 4, "")],
        now,
    )
    found = familiarity(
        [
            tried("a", now),
            tried("b", now - 15 * day),
            tried("c", 0.0),
            tried("d", now, "failed"),
            tried("due", now),
        ],
        reviewed,
        now,
    )
    assert found["challenge:a"] == 1.0
    assert found["challenge:b"] == pytest.approx(0.5)
    assert found["challenge:c"] == 0.0
    assert "challenge:d" not in found
    assert found["challenge:due"] == 0.0
    assert found["challenge:new"] > 0.9


@pytest.mark.parametrize(
    ("wanted", "says"),
    [("shaering", "sharing"), ("gqua", "gqa"), ("", "attention, cache"), ("zzz", "The topics are")],
)
def test_unknown_topic_is_refused(wanted: str, says: str) -> None:
    """The message has the nearest names, or all topics."""
    with pytest.raises(DrillError, match=says):
        main_problems(CHALLENGES, TOPICS, wanted)


def test_topic_without_challenges_is_refused() -> None:
    """An interview needs at least one challenge."""
    with pytest.raises(DrillError, match="no challenge"):
        main_problems(CHALLENGES, {**TOPICS, "history": "History"}, "history")


def test_journal_keeps_the_plan() -> None:
    """The journal gives the same plan back; a plan of another version is None."""
    made = replace(planned(), folder="/a/b")
    assert plan_from(json.loads(json.dumps(asdict(made)))) == made
    assert plan_from({"minutes": "many"}) is None


def test_questions_are_drawn_the_same_again() -> None:
    """A second draw gives the same numbers and order; a question that is gone is skipped."""
    made = planned(60)
    asked = draw_questions(made, QUESTIONS)
    assert [one.item for one in asked] == [f"question:{name}" for name in made.questions]
    assert draw_questions(made, QUESTIONS) == asked
    assert (
        draw_questions(made, [one for one in QUESTIONS if one.id != made.questions[0]]) == asked[1:]
    )
