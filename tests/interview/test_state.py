"""Tests of the state of a mock interview."""

import json
from typing import Any

import pytest

from tests.support.interview import EVENTS, PLAN
from trainer.interview.plan import InterviewPlan, Stage
from trainer.interview.state import (
    StageResult,
    StageState,
    allowed_seconds,
    attempt_data,
    overtime_seconds,
    state_of,
    unrecorded_attempts,
)
from trainer.practice.facts import Attempted


def test_state_adds_up_the_events() -> None:
    """Attempts, help, seconds and results are summed. Without a file there is no result."""
    state = state_of(PLAN, EVENTS)
    assert state.stages[0] == StageState(
        True, True, 110.0, 2, 1, 1, StageResult("passed", 12, 12), False, "x", ""
    )
    assert state.stages[1] == StageState(True, True, 910.0, 3, 0, 0, None, True, None, "gone")
    assert [(answer.item, answer.rating) for answer in state.answers] == [
        ("follow-up:mha:1", 3),
        ("follow-up:mha:2", 1),
    ]
    assert (state.seconds, state.question_seconds, state.finished, state.stage) == (
        1070.0,
        50.0,
        True,
        None,
    )


@pytest.mark.parametrize("count", range(len(EVENTS) + 1))
def test_interview_can_be_resumed_after_any_event(count: int) -> None:
    """The next stage is known, no second is lost, and the end is the same."""
    state = state_of(PLAN, EVENTS[:count])
    ended = sum(kind == "ended" for _, kind, _ in EVENTS[:count])
    assert state.stage == (ended if ended < 2 else None)
    assert len(state.answers) == sum(kind == "answer" for _, kind, _ in EVENTS[:count])
    seconds_of_stage = [data["seconds"] for _, _, data in EVENTS[:count] if data.get("stage") == 0]
    assert state.stages[0].seconds == max(seconds_of_stage, default=0.0)
    assert state_of(PLAN, json.loads(json.dumps(EVENTS[:count])) + EVENTS[count:]) == state_of(
        PLAN, EVENTS
    )


def test_attempts_before_a_kill_are_recorded_later() -> None:
    """Only attempts at this stage and after the last event are added."""

    def attempt_at(when: float, name: str = "mha", purpose: Any = "interview") -> Attempted:
        return Attempted(
            name,
            when,
            seed=1,
            verdict="failed",
            source="",
            checks={"loads": "passed", "runs": "failed"},
            seconds=70.0,
            purpose=purpose,
        )

    attempts = [
        attempt_at(0.5),
        attempt_at(8.0),
        attempt_at(8.5),
        attempt_at(8.6, purpose="practice"),
        attempt_at(8.7, "sdpa"),
        attempt_at(9.0),
    ]
    missing = {"stage": 1, "seconds": 70.0, "verdict": "failed", "passed": 1, "total": 2}
    missing |= {"failed": ["runs"], "bugs_left": None}
    assert unrecorded_attempts(PLAN, 1.0, EVENTS[:8], attempts) == [missing, missing]
    assert unrecorded_attempts(PLAN, 1.0, EVENTS, attempts) == []


def test_debugging_round_counts_the_attempts_of_its_hunt() -> None:
    """The attempts of a repair have another purpose, and the bugs that are left are known."""
    stages = (Stage("mini-gpt", "debugging", 600.0, ("no-scale", "sum-for-mean")),)
    plan = InterviewPlan(20, 1, stages)
    hunted, other = (
        Attempted(
            "mini-gpt",
            8.0,
            seed=1,
            verdict="failed",
            source="",
            checks={"loads": "passed"},
            seconds=7.0,
            purpose=purpose,
        )
        for purpose in ("hunt", "interview")
    )
    data = attempt_data(0, "failed", {"loads": "passed"}, 7.0)
    assert unrecorded_attempts(plan, 1.0, [], [hunted, other]) == [data]
    left = attempt_data(0, "failed", {"loads": "passed"}, 7.0, bugs_left=1)
    result = state_of(plan, [(2.0, "attempt", json.loads(json.dumps(left)))]).stages[0].result
    assert result is not None
    assert result.bugs_left == 1


def test_stage_gets_the_time_that_earlier_stages_left() -> None:
    """Overtime up to a minute counts as 0."""
    quick = state_of(PLAN, EVENTS[:7])
    assert allowed_seconds(PLAN, quick, 1) == 600 + 190
    slow = state_of(PLAN, [(1.0, "ended", {**EVENTS[6][2], "seconds": 700.0})])
    assert allowed_seconds(PLAN, slow, 1) == 200
    assert overtime_seconds(PLAN, slow, 0) == 400
    assert (
        overtime_seconds(PLAN, state_of(PLAN, [(1.0, "left", {"stage": 0, "seconds": 350.0})]), 0)
        == 0
    )
    slower = state_of(PLAN, [(1.0, "ended", {**EVENTS[6][2], "seconds": 5000.0})])
    assert allowed_seconds(PLAN, slower, 1) == 60
