"""Compute the state of a mock interview.

An interview is a list of events, in the journal and in memory. The state is computed from all
events, so a resumed interview is in the same state as an interview that never stopped. The
functions are pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from trainer.interview.plan import InterviewPlan
from trainer.model.checks import Status
from trainer.practice.facts import Attempted

Event = tuple[float, str, Mapping[str, Any]]  # seconds since the epoch, kind, data

_GRACE_SECONDS = 60.0  # overtime that is not reported, so that the learner can finish a line


@dataclass(frozen=True)
class StageResult:
    """The result of a check.

    Attributes:
        verdict: The verdict.
        passed: The number of checks that passed.
        total: The number of all checks.
        failed: The names of the checks that failed.
        bugs_left: The number of planted mistakes that are left, or None if it is not known.
    """

    verdict: str
    passed: int
    total: int
    failed: tuple[str, ...] = ()
    bugs_left: int | None = None


@dataclass(frozen=True)
class StageState:
    """The state of one stage.

    Attributes:
        begun: True if the stage began.
        ended: True if the stage ended.
        seconds: The time at work.
        attempts: The number of attempts.
        hints: The highest level of the hints that were shown.
        revealed_mistakes: The number of times that the likely mistake was shown.
        result: The result of the last check.
        reference_seen: True if the reference was shown during the stage.
        code: The text of the file that was handed in, or None.
        note: The reason if no file was handed in.
    """

    begun: bool = False
    ended: bool = False
    seconds: float = 0.0
    attempts: int = 0
    hints: int = 0
    revealed_mistakes: int = 0
    result: StageResult | None = None
    reference_seen: bool = False
    code: str | None = None
    note: str = ""


@dataclass(frozen=True)
class Answer:
    """The learner's own rating of an answer to a question.

    Attributes:
        item: The question's item in the journal.
        rating: 1 again, 2 hard, 3 good, 4 easy.
    """

    item: str
    rating: int


@dataclass(frozen=True)
class InterviewState:
    """The state of an interview.

    Attributes:
        stages: The state of each stage.
        answers: The answers in order.
        question_seconds: The time for the questions so far.
        finished: True if the interview is finished.
    """

    stages: tuple[StageState, ...]
    answers: tuple[Answer, ...] = ()
    question_seconds: float = 0.0
    finished: bool = False

    @property
    def stage(self) -> int | None:
        """The index of the first stage that has not ended, or None."""
        return next((index for index, stage in enumerate(self.stages) if not stage.ended), None)

    @property
    def seconds(self) -> float:
        """The time at work so far."""
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
                answer = Answer(data["item"], int(data["rating"]))
                answers.setdefault(answer.item, answer)
    return InterviewState(tuple(stages), tuple(answers.values()), question_seconds, finished)


def _stage_after(stage: StageState, kind: str, data: Mapping[str, Any]) -> StageState:
    """Return the state of a stage after one event.

    Every event contains the seconds so far, so a kill loses only the time since the last event.
    """
    seconds = max(stage.seconds, float(data.get("seconds") or 0.0))
    stage = replace(stage, begun=True, seconds=seconds)
    match kind:
        case "attempt":
            result = StageResult(
                data["verdict"],
                data["passed"],
                data["total"],
                tuple(data["failed"]),
                data.get("bugs_left"),
            )
            attempts = stage.attempts + int(data.get("count", 1))
            return replace(stage, attempts=attempts, result=result)
        case "hint":
            return replace(stage, hints=max(stage.hints, int(data["level"])))
        case "why":
            return replace(
                stage, revealed_mistakes=stage.revealed_mistakes + int(data.get("count", 1))
            )
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


def unrecorded_attempts(
    plan: InterviewPlan, began: float, events: Sequence[Event], attempts: Iterable[Attempted]
) -> list[dict[str, Any]]:
    """Return the data of "attempt" events that a killed interview could not record.

    The session writes each attempt to the journal at once, but the interview receives the attempts
    only at the end of the session.

    Args:
        plan: The plan of the interview.
        began: The start of the interview in seconds since the epoch.
        events: The recorded events of the interview.
        attempts: The attempts in the journal.
    """
    index = state_of(plan, events).stage
    if index is None:
        return []
    last = max([began, *(at for at, _, _ in events)])
    data = []
    stage = plan.stages[index]
    purpose = "hunt" if stage.bugs else "interview"
    for attempt in attempts:
        of_stage = attempt.challenge == stage.challenge
        if attempt.purpose == purpose and of_stage and attempt.at > last:
            seconds = attempt.seconds or 0.0
            data.append(attempt_data(index, attempt.verdict, attempt.checks, seconds))
    return data


def attempt_data(
    index: int,
    verdict: str,
    checks: Mapping[str, Status],
    seconds: float,
    bugs_left: int | None = None,
) -> dict[str, Any]:
    """Return the data of an "attempt" event.

    Args:
        index: The index of the stage.
        verdict: The verdict.
        checks: The status of every check that was due.
        seconds: The time at work.
        bugs_left: The number of planted mistakes that are left, or None if it is not known.
    """
    passed = [name for name, status in checks.items() if status == "passed"]
    failed = [name for name, status in checks.items() if status == "failed"]
    return {
        "stage": index,
        "seconds": seconds,
        "verdict": verdict,
        "passed": len(passed),
        "total": len(checks),
        "failed": failed,
        "bugs_left": bugs_left,
    }


def allowed_seconds(plan: InterviewPlan, state: InterviewState, index: int) -> float:
    """Return the time for a stage in seconds, at least 60.

    The planned time is extended by the time that earlier stages left over, or reduced by the time
    that they took too long.
    """
    earlier = zip(plan.stages[:index], state.stages[:index], strict=True)
    left_over = sum(planned.seconds - done.seconds for planned, done in earlier)
    return max(60.0, plan.stages[index].seconds + left_over)


def overtime_seconds(plan: InterviewPlan, state: InterviewState, index: int) -> float:
    """Return the seconds by which a stage exceeded its time; 0 for up to a minute."""
    over = state.stages[index].seconds - allowed_seconds(plan, state, index)
    return over if over > _GRACE_SECONDS else 0.0
