"""Tests of the state of a mock interview."""

import msgspec
import pytest

from attn_drill.exercises.interview import (
    InterviewPlan,
    Stage,
    StageState,
    allowed_seconds,
    carried_seconds,
    overtime_seconds,
    state_of,
)
from attn_drill.practice.facts import (
    AnyFact,
    QuestionAnswered,
    StageBegan,
    StageEnded,
    StageEvent,
    StageLeft,
    StageRepaired,
)
from tests.support.report import EVENTS, FIRST, PLAN, attempted


def test_state_adds_up_the_events() -> None:
    """Attempts, help, seconds and results are summed. Without a file there is no result."""
    state = state_of(PLAN, EVENTS)
    assert state.stages[0] == StageState(True, True, 110.0, 2, 1, 1, EVENTS[4], False, "x", "")  # type: ignore[arg-type]
    assert state.stages[1] == StageState(True, True, 910.0, 3, 0, 0, None, True, None, "gone")
    assert state.ratings == {"follow-up:mha:1": 3, "follow-up:mha:2": 1}
    assert (state.seconds, state.question_seconds, state.finished, state.stage) == (
        1070.0,
        50.0,
        True,
        None,
    )


@pytest.mark.parametrize("count", range(len(EVENTS) + 1))
def test_interview_can_be_resumed_after_any_event(count: int) -> None:
    """The next problem is known, no second is lost, and the end is the same."""
    earlier = EVENTS[:count]
    state = state_of(PLAN, earlier)
    ended = sum(isinstance(event, StageEnded) for event in earlier)
    assert state.stage == (ended if ended < 2 else None)
    answered = sum(isinstance(event, QuestionAnswered) for event in earlier)
    assert len(state.ratings) == answered
    seconds = [
        event.seconds
        for event in earlier
        if isinstance(event, StageEvent) and event.subject == "sdpa"
    ]
    assert state.stages[0].seconds == max(seconds, default=0.0)
    kept = msgspec.json.decode(msgspec.json.encode(earlier), type=tuple[AnyFact, ...])
    assert state_of(PLAN, [*kept, *EVENTS[count:]]) == state_of(PLAN, EVENTS)


def test_problem_that_is_not_in_the_plan_is_skipped() -> None:
    """A journal that was edited by hand stops no interview."""
    assert state_of(PLAN, [StageBegan("mqa", 1.0, interview="i")]) == state_of(PLAN, [])


def test_bugs_that_are_left_belong_to_the_last_attempt() -> None:
    """The diagnosis comes after the verdict. Without an attempt it says nothing."""
    plan = InterviewPlan(20, 1, (Stage("mini-gpt", "debugging", 600.0, ("a", "b")),))
    repaired = StageRepaired("mini-gpt", 3.0, interview="i", bugs_left=1)
    attempt = attempted("mini-gpt", 2.0, 7.0)
    result = state_of(plan, [attempt, repaired]).stages[0].result
    assert result == msgspec.structs.replace(attempt, bugs_left=1)
    assert state_of(plan, [repaired]).stages[0].result is None


def test_problem_gets_the_time_that_earlier_problems_left() -> None:
    """Overtime up to a minute counts as 0."""

    quick = state_of(PLAN, EVENTS[:7])
    assert (carried_seconds(PLAN, quick, 1), allowed_seconds(PLAN, quick, 1)) == (190, 790)
    slow = state_of(PLAN, [StageLeft(**FIRST, at=1.0, seconds=700.0)])
    assert (carried_seconds(PLAN, slow, 1), allowed_seconds(PLAN, slow, 1)) == (-400, 200)
    assert overtime_seconds(PLAN, slow, 0) == 400
    late = state_of(PLAN, [StageLeft(**FIRST, at=1.0, seconds=350.0)])
    assert overtime_seconds(PLAN, late, 0) == 0
    slower = state_of(PLAN, [StageLeft(**FIRST, at=1.0, seconds=5000.0)])
    assert allowed_seconds(PLAN, slower, 1) == 60
