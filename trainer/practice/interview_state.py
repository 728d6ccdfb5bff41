"""What has happened in a mock interview. Pure.

All that happens is a list of events, in the journal and in memory; a State is what they add up to, so a resumed interview is one that never stopped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from trainer.core.words import Attempt, Status
from trainer.practice.interview import Plan

Event = tuple[float, str, Mapping[str, Any]]

_GRACE_SECONDS = 60.0


@dataclass(frozen=True)
class Result:
    """The verdict on a file, with the names of the checks that failed."""

    verdict: str
    passed: int
    total: int
    failed: tuple[str, ...] = ()


@dataclass(frozen=True)
class StageState:
    """What has happened in one stage.

    hints            the highest level of hint
    whys             how often the likely mistake was asked for and told
    result           of the last check
    reference_seen   whether the reference was looked at meanwhile
    code             what was handed in at the end, or None
    note             why nothing was handed in
    """

    begun: bool = False
    ended: bool = False
    seconds: float = 0.0
    attempts: int = 0
    hints: int = 0
    whys: int = 0
    result: Result | None = None
    reference_seen: bool = False
    code: str | None = None
    note: str = ""


@dataclass(frozen=True)
class Answer:
    """What was answered to a question, by its item, and whether it is right."""

    item: str
    given: str
    right: bool


@dataclass(frozen=True)
class State:
    """What has happened in all. `question_seconds`: spent on the questions."""

    stages: tuple[StageState, ...]
    answers: tuple[Answer, ...] = ()
    question_seconds: float = 0.0
    finished: bool = False

    @property
    def stage(self) -> int | None:
        """The index of the stage that is due, or None where the questions are."""
        return next((index for index, one in enumerate(self.stages) if not one.ended), None)

    @property
    def seconds(self) -> float:
        """Spent in all."""
        return sum(one.seconds for one in self.stages) + self.question_seconds


def state_of(plan: Plan, events: Iterable[Event]) -> State:
    """What these events add up to. Events of an unknown kind change nothing."""
    state = State(tuple(StageState() for _ in plan.stages))
    for _, kind, data in events:
        if "stage" in data:
            index = int(data["stage"])
            if 0 <= index < len(state.stages):
                changed = _stage_after(state.stages[index], kind, data)
                state = replace(
                    state, stages=(*state.stages[:index], changed, *state.stages[index + 1 :])
                )
        elif kind == "finished":
            state = replace(state, finished=True)
        else:
            state = replace(
                state, question_seconds=max(state.question_seconds, float(data.get("seconds", 0.0)))
            )
            if kind == "answer" and all(one.item != data["item"] for one in state.answers):
                state = replace(
                    state,
                    answers=(*state.answers, Answer(data["item"], data["given"], data["right"])),
                )
    return state


def _stage_after(stage: StageState, kind: str, data: Mapping[str, Any]) -> StageState:
    """A stage after one event. Every event tells the seconds so far, so a kill loses the time since the last one and no more."""
    stage = replace(
        stage, begun=True, seconds=max(stage.seconds, float(data.get("seconds") or 0.0))
    )
    if kind == "attempt":
        result = Result(data["verdict"], data["passed"], data["total"], tuple(data["failed"]))
        return replace(stage, attempts=stage.attempts + int(data.get("count", 1)), result=result)
    if kind == "hint":
        return replace(stage, hints=max(stage.hints, int(data["level"])))
    if kind == "why":
        return replace(stage, whys=stage.whys + int(data.get("count", 1)))
    if kind == "ended":
        stage = replace(
            stage,
            ended=True,
            code=data["code"],
            note=data["note"],
            reference_seen=data["reference_seen"],
        )
        return stage if stage.code is not None else replace(stage, result=None)
    return stage


def unrecorded(
    plan: Plan, began: float, events: Sequence[Event], attempts: Iterable[Attempt]
) -> list[tuple[str, dict[str, Any]]]:
    """Events for the attempts that came after the last event of an interview that was killed: those have their own place in the journal."""
    index = state_of(plan, events).stage
    if index is None:
        return []
    last = max([began, *(at for at, _, _ in events)])
    mine = (
        one
        for one in attempts
        if one.purpose == "interview"
        and one.challenge == plan.stages[index].challenge
        and one.when > last
    )
    return [
        ("attempt", attempt_event(index, one.verdict, one.checks, one.seconds or 0.0))
        for one in mine
    ]


def attempt_event(
    index: int, verdict: str, checks: Mapping[str, Status], seconds: float
) -> dict[str, Any]:
    """What an interview keeps of an attempt; `checks`: each check that was due, with its status."""
    passed = sum(status == "passed" for status in checks.values())
    failed = [name for name, status in checks.items() if status == "failed"]
    return {
        "stage": index,
        "seconds": seconds,
        "verdict": verdict,
        "passed": passed,
        "total": len(checks),
        "failed": failed,
    }


def allowed_seconds(plan: Plan, state: State, index: int) -> float:
    """The time for a stage: its share, and what the stages before left of theirs or took from it. At least a minute: there is one clock for all."""
    left_over = sum(
        stage.seconds - done.seconds
        for stage, done in zip(plan.stages[:index], state.stages[:index], strict=True)
    )
    return max(60.0, plan.stages[index].seconds + left_over)


def overtime_seconds(plan: Plan, state: State, index: int) -> float:
    """By how much a stage went over its time; within a minute nobody is told, so that a line can be finished."""
    over = state.stages[index].seconds - allowed_seconds(plan, state, index)
    return over if over > _GRACE_SECONDS else 0.0
