"""Compute the state of a mock interview.

An interview is a list of events, in the journal and in memory. The state is computed from all
events, so a resumed interview is in the same state as an interview that never stopped. The
functions are pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from attn_drill.interview.plan import InterviewPlan
from attn_drill.model.report import Report
from attn_drill.practice import facts

# Overtime that is not reported, so that the learner can finish a line.
_GRACE_SECONDS = 60.0
# Of every problem, even if the problems before took all the time.
_LEAST_SECONDS = 60.0


@dataclass(frozen=True)
class StageState:
    """The state of one problem."""

    begun: bool = False
    ended: bool = False
    seconds: float = 0.0
    attempts: int = 0
    hints: int = 0
    revealed_mistakes: int = 0
    # The last attempt, with the number of planted mistakes that are left.
    result: facts.StageAttempted | None = None
    reference_seen: bool = False
    code: str | None = None
    note: str = ""


@dataclass(frozen=True)
class InterviewState:
    """The state of an interview."""

    stages: tuple[StageState, ...]
    # 1 again to 4 easy, by item
    ratings: Mapping[str, int] = field(default_factory=dict)
    question_seconds: float = 0.0
    finished: bool = False

    @property
    def stage(self) -> int | None:
        """The index of the first problem that has not ended, or None."""
        return next((index for index, stage in enumerate(self.stages) if not stage.ended), None)

    @property
    def seconds(self) -> float:
        """The time at work so far."""
        return sum(stage.seconds for stage in self.stages) + self.question_seconds


def state_of(plan: InterviewPlan, events: Iterable[facts.InterviewEvent]) -> InterviewState:
    """Return the state after these events. Skip events of an unknown kind."""
    stages = {stage.challenge: StageState() for stage in plan.stages}
    ratings: dict[str, int] = {}
    question_seconds = 0.0
    finished = False
    for event in events:
        match event:
            case facts.StageEvent(subject=challenge) if challenge in stages:
                stages[challenge] = _stage_after(stages[challenge], event)
            case facts.QuestionEvent(subject=item, seconds=seconds):
                question_seconds = max(question_seconds, seconds)
                if isinstance(event, facts.QuestionAnswered):
                    ratings.setdefault(item, event.rating)
            case facts.InterviewFinished():
                finished = True
    return InterviewState(tuple(stages.values()), ratings, question_seconds, finished)


def _stage_after(stage: StageState, event: facts.StageEvent) -> StageState:
    stage = replace(stage, begun=True, seconds=max(stage.seconds, event.seconds))
    match event:
        case facts.StageAttempted(count=count):
            return replace(stage, attempts=stage.attempts + count, result=event)
        case facts.StageReplaced():
            return replace(stage, attempts=stage.attempts - 1)
        case facts.StageRepaired(bugs_left=bugs_left) if stage.result is not None:
            return replace(stage, result=msgspec.structs.replace(stage.result, bugs_left=bugs_left))
        case facts.StageHinted(level=level):
            return replace(stage, hints=max(stage.hints, level))
        case facts.MistakeShown(count=count):
            return replace(stage, revealed_mistakes=stage.revealed_mistakes + count)
        case facts.StageEnded(code=code, note=note, reference_seen=seen):
            result = stage.result if code is not None else None
            return replace(
                stage, ended=True, code=code, note=note, reference_seen=seen, result=result
            )
    return stage


def carried_seconds(plan: InterviewPlan, state: InterviewState, index: int) -> float:
    """Return the time that the problems before left over; negative if they took too long."""
    earlier = zip(plan.stages[:index], state.stages[:index], strict=True)
    left_over = sum(planned.seconds - done.seconds for planned, done in earlier)
    return max(_LEAST_SECONDS - plan.stages[index].seconds, left_over)


def allowed_seconds(plan: InterviewPlan, state: InterviewState, index: int) -> float:
    """Return the time for a problem: the planned time, and the time carried over."""
    return plan.stages[index].seconds + carried_seconds(plan, state, index)


def overtime_seconds(plan: InterviewPlan, state: InterviewState, index: int) -> float:
    """Return the seconds by which a problem exceeded its time; 0 for up to a minute."""
    over = state.stages[index].seconds - allowed_seconds(plan, state, index)
    return over if over > _GRACE_SECONDS else 0.0


def values_of_attempt(report: Report) -> dict[str, Any]:
    """Return the values of a `StageAttempted`, without those that every event has."""
    statuses = report.statuses()
    left = report.repair.left if report.repair is not None else None
    return {
        "verdict": report.verdict,
        "passed": sum(status == "passed" for status in statuses.values()),
        "total": len(statuses),
        "failed": tuple(name for name, status in statuses.items() if status == "failed"),
        "bugs_left": None if left is None else len(left),
        "count": 0 if report.unfinished else 1,
    }
