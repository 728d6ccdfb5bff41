"""The state of a mock interview. Pure.

An interview is a list of events, in the journal and in memory. The state is computed from all of
them, so a resumed interview is in the same state as one that never stopped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from trainer.interview.plan import InterviewPlan
from trainer.model.attempt import Attempt
from trainer.model.checks import Status

Event = tuple[float, str, Mapping[str, Any]]  # seconds since the epoch, kind, data

_GRACE_SECONDS = 60.0  # of overtime that is not told, so that a line can be finished


@dataclass(frozen=True)
class StageResult:
    """The verdict on a file, with the names of the checks that failed."""

    verdict: str
    passed: int
    total: int
    failed: tuple[str, ...] = ()


@dataclass(frozen=True)
class StageState:
    """The state of one stage.

    hints            the highest hint that was taken
    whys             how often the likely mistake was shown
    result           of the last check
    reference_seen   whether the learner looked at the reference meanwhile
    code             the file that was handed in, or None
    note             why no file was handed in
    """

    begun: bool = False
    ended: bool = False
    seconds: float = 0.0
    attempts: int = 0
    hints: int = 0
    whys: int = 0
    result: StageResult | None = None
    reference_seen: bool = False
    code: str | None = None
    note: str = ""


@dataclass(frozen=True)
class Answer:
    """An answer to a question. `item`: the question's item in the journal."""

    item: str
    given: str
    right: bool


@dataclass(frozen=True)
class InterviewState:
    """The state of an interview."""

    stages: tuple[StageState, ...]
    answers: tuple[Answer, ...] = ()
    question_seconds: float = 0.0
    finished: bool = False

    @property
    def stage(self) -> int | None:
        """Return the index of the first stage that has not ended, or None."""
        return next((index for index, stage in enumerate(self.stages) if not stage.ended), None)

    @property
    def seconds(self) -> float:
        """Return the time at work so far."""
        return sum(stage.seconds for stage in self.stages) + self.question_seconds


def state_of(plan: InterviewPlan, events: Iterable[Event]) -> InterviewState:
    """Return the state after these events. Skip events of an unknown kind."""
    stages = [StageState() for _ in plan.stages]
    answers: dict[str, Answer] = {}
    question_seconds = 0.0
    finished = False
    for _, kind, data in events:
        if "stage" in data:
            index = int(data["stage"])
            if 0 <= index < len(stages):
                stages[index] = _stage_after(stages[index], kind, data)
        elif kind == "finished":
            finished = True
        else:
            question_seconds = max(question_seconds, float(data.get("seconds", 0.0)))
            if kind == "answer":
                answer = Answer(data["item"], data["given"], data["right"])
                answers.setdefault(answer.item, answer)
    return InterviewState(tuple(stages), tuple(answers.values()), question_seconds, finished)


def _stage_after(stage: StageState, kind: str, data: Mapping[str, Any]) -> StageState:
    """Return the state of a stage after one event.

    Every event has the seconds so far: a kill loses only the time since the last event.
    """
    seconds = max(stage.seconds, float(data.get("seconds") or 0.0))
    stage = replace(stage, begun=True, seconds=seconds)
    match kind:
        case "attempt":
            result = StageResult(
                data["verdict"], data["passed"], data["total"], tuple(data["failed"])
            )
            attempts = stage.attempts + int(data.get("count", 1))
            return replace(stage, attempts=attempts, result=result)
        case "hint":
            return replace(stage, hints=max(stage.hints, int(data["level"])))
        case "why":
            return replace(stage, whys=stage.whys + int(data.get("count", 1)))
        case "ended":
            return replace(
                stage,
                ended=True,
                code=data["code"],
                note=data["note"],
                reference_seen=data["reference_seen"],
                result=stage.result if data["code"] is not None else None,
            )
    return stage


def unrecorded(
    plan: InterviewPlan, began: float, events: Sequence[Event], attempts: Iterable[Attempt]
) -> list[dict[str, Any]]:
    """Return the data of "attempt" events that a killed interview could not record.

    The session keeps each attempt in the journal at once; the interview learns of it at the end of
    the session.
    """
    index = state_of(plan, events).stage
    if index is None:
        return []
    last = max([began, *(at for at, _, _ in events)])
    found = []
    for attempt in attempts:
        of_stage = attempt.challenge == plan.stages[index].challenge
        if attempt.purpose == "interview" and of_stage and attempt.when > last:
            seconds = attempt.seconds or 0.0
            found.append(attempt_data(index, attempt.verdict, attempt.checks, seconds))
    return found


def attempt_data(
    index: int, verdict: str, checks: Mapping[str, Status], seconds: float
) -> dict[str, Any]:
    """Return the data of an "attempt" event. `checks`: every check that was due."""
    passed = [name for name, status in checks.items() if status == "passed"]
    failed = [name for name, status in checks.items() if status == "failed"]
    return {
        "stage": index,
        "seconds": seconds,
        "verdict": verdict,
        "passed": len(passed),
        "total": len(checks),
        "failed": failed,
    }


def allowed_seconds(plan: InterviewPlan, state: InterviewState, index: int) -> float:
    """Return the time for a stage: its share and what earlier stages left; at least 60."""
    earlier = zip(plan.stages[:index], state.stages[:index], strict=True)
    left_over = sum(planned.seconds - done.seconds for planned, done in earlier)
    return max(60.0, plan.stages[index].seconds + left_over)


def overtime_seconds(plan: InterviewPlan, state: InterviewState, index: int) -> float:
    """Return by how much a stage went over its time; 0 up to a minute."""
    over = state.stages[index].seconds - allowed_seconds(plan, state, index)
    return over if over > _GRACE_SECONDS else 0.0
