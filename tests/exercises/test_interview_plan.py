"""Tests of the plan of a mock interview."""

import json
from collections.abc import Sequence
from dataclasses import asdict, replace

import pytest

from attn_drill.exercises.interview import (
    Choice,
    InterviewPlan,
    choose_problems,
    familiarity,
    main_problems,
    make_plan,
    plan_from,
    planned_questions,
    prerequisites,
)
from attn_drill.model.errors import DrillError
from attn_drill.packs.question_bank import FollowUp
from attn_drill.practice.facts import Attempted, Reviewed
from attn_drill.practice.schedule import item_of, items
from tests.support.report import BY_ID, CHALLENGES, QUESTIONS

BEFORE = prerequisites(CHALLENGES)

WANTED = [None, *sorted({challenge.topic for challenge in CHALLENGES}), *BY_ID]


def planned(
    minutes: int = 45,
    wanted: str | None = None,
    seed: int = 1,
    known_items: dict[str, float] | None = None,
    questions: Sequence[FollowUp] = QUESTIONS,
) -> InterviewPlan:
    """Return the plan of an interview."""
    known, mains = known_items or {}, main_problems(CHALLENGES, wanted)
    chosen = choose_problems(CHALLENGES, minutes, mains, known, seed)
    return make_plan(chosen, questions, minutes, known, seed)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("minutes", [5, 15, 25, 40, 45, 60, 90, 240])
@pytest.mark.parametrize("wanted", WANTED, ids=str)
def test_plan_has_a_main_problem_and_fits_into_the_time(wanted: str | None, minutes: int) -> None:
    """A follow-up builds on the main problem if such a challenge exists.

    A warm-up builds on neither.
    """
    for seed in range(5):
        made = planned(minutes, wanted, seed)
        by_role = {stage.role: BY_ID[stage.challenge] for stage in made.stages}
        assert len(by_role) == len({stage.challenge for stage in made.stages}) == len(made.stages)
        main = by_role["main problem"]
        assert wanted in (None, main.id, main.topic)
        assert (
            len(made.stages) == 1
            or sum(problem.minutes for problem in by_role.values()) <= 1.2 * minutes
        )
        if follow_up := by_role.get("follow-up"):
            later = {challenge.id for challenge in CHALLENGES if main.id in BEFORE[challenge.id]}
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


@pytest.mark.sampled(12)
@pytest.mark.parametrize("minutes", [5, 30, 60, 240])
@pytest.mark.parametrize("wanted", WANTED, ids=str)
def test_questions_follow_up_the_problems(wanted: str | None, minutes: int) -> None:
    """There is about a minute for each question. Questions on the main problem come first."""
    made = planned(minutes, wanted)
    by_role = {stage.role: stage.challenge for stage in made.stages}
    in_order = [
        by_role[role] for role in ("main problem", "follow-up", "warm-up") if role in by_role
    ]
    all_items = [f"follow-up:{name}:{number}" for name in in_order for number in (1, 2, 3, 4)]
    assert list(made.questions) == all_items[: {5: 1, 30: 3, 60: 6, 240: 24}[minutes]]


def test_problems_without_questions_get_all_time() -> None:
    """A pack may have no answers."""
    without = planned(15, "gqa", questions=[])
    assert without.questions == ()
    assert without.question_seconds == pytest.approx(0)


def test_minutes_decide_how_many_problems() -> None:
    """15 minutes have one problem, an hour has three."""
    assert [len(planned(minutes).stages) for minutes in (5, 15, 30, 60, 120)] == [1, 1, 2, 3, 3]


def test_same_seed_gives_the_same_plan() -> None:
    """Other seeds give other plans."""
    assert planned(seed=7) == planned(seed=7)
    assert (
        len({tuple(stage.challenge for stage in planned(seed=seed).stages) for seed in range(20)})
        > 4
    )


def test_known_items_are_avoided() -> None:
    """Of equally suitable problems, an unknown problem is chosen. The same holds for questions."""
    same_length = [challenge.id for challenge in CHALLENGES if challenge.minutes == 15]
    for new in same_length:
        familiar = {item_of(other): 1.0 for other in BY_ID if other != new}
        assert planned(15, known_items=familiar).stages[0].challenge == new
    first = planned(30, same_length[0])
    again = planned(30, same_length[0], known_items=dict.fromkeys(first.questions[:2], 1.0))
    assert again.stages == first.stages
    assert again.questions == tuple(f"follow-up:{same_length[0]}:{number}" for number in (1, 3, 4))


def test_pass_fades_within_a_month() -> None:
    """A failed attempt does not count, and a due item counts as not known."""
    day = 86400.0

    def attempt_at(name: str, when: float, verdict: str = "passed") -> Attempted:
        return Attempted(name, when, seed=1, verdict=verdict, source="")  # type: ignore[arg-type]

    now = 100 * day
    reviewed = items(
        [
            Reviewed("challenge:due", 0.0, "1", rating=3),
            Reviewed("challenge:new", now - 60, "2", rating=4),
        ],
        now,
    )
    known = familiarity(
        [
            attempt_at("a", now),
            attempt_at("b", now - 15 * day),
            attempt_at("c", 0.0),
            attempt_at("d", now, "failed"),
            attempt_at("due", now),
        ],
        reviewed,
        now,
    )
    assert known["challenge:a"] == 1.0
    assert known["challenge:b"] == pytest.approx(0.5)
    assert known["challenge:c"] == 0.0
    assert "challenge:d" not in known
    assert known["challenge:due"] == 0.0
    assert known["challenge:new"] > 0.9


@pytest.mark.parametrize(
    ("wanted", "says"),
    [
        ("shaering", "sharing"),
        ("gqua", "gqa"),
        ("", "attention, blocks"),
        ("zzz", "The topics are"),
    ],
)
def test_unknown_topic_is_refused(wanted: str, says: str) -> None:
    """The message has the nearest names, or all topics."""
    with pytest.raises(DrillError, match=says):
        main_problems(CHALLENGES, wanted)


def test_plan_is_read_from_the_journal_unchanged() -> None:
    """A plan of another version is read as None."""
    made = replace(planned(), folder="/a/b")
    assert plan_from(json.loads(json.dumps(asdict(made)))) == made
    assert plan_from({"minutes": "many"}) is None
    older = asdict(replace(made, questions=("heads-of-gqa",)))
    del older["is_graded"]
    assert plan_from(older) is None, "older versions asked questions of the bank"
    assert plan_from({**older, "questions": []}) == replace(made, questions=())


def test_question_that_no_pack_has_any_more_is_skipped() -> None:
    """The other questions keep their order."""
    made = planned(60)
    asked = planned_questions(made, QUESTIONS[::-1])
    assert [question.item for question in asked] == list(made.questions)
    fewer = [question for question in QUESTIONS if question.item != made.questions[0]]
    assert planned_questions(made, fewer) == asked[1:]


@pytest.mark.parametrize("has_follow_up", [True, False])
def test_debugging_round_has_the_bugs_and_questions_on_both_problems(has_follow_up: bool) -> None:
    """The stages share the time without that of the questions by their par times."""
    chosen: Choice = {"debugging": BY_ID["mini-gpt"]}
    if has_follow_up:
        chosen["follow-up"] = BY_ID["mini-gpt-cache"]
    plan = make_plan(chosen, QUESTIONS, 50, {}, 7, ("a", "b"))
    seconds = [1620.0, 1080.0] if has_follow_up else [2700.0]
    assert [stage.seconds for stage in plan.stages] == pytest.approx(seconds)
    assert [stage.bugs for stage in plan.stages] == [("a", "b"), ()][: len(seconds)]
    assert len(plan.questions) == (5 if has_follow_up else 4)
    assert plan.questions[0].startswith("follow-up:mini-gpt:")
    assert plan_from(json.loads(json.dumps(asdict(plan)))) == plan
