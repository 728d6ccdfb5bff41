"""What one student is told of their results, and how many points each check is worth: for the platforms that show it to them.

Everything that could give a hidden case away goes through here. With less than the whole report, students see no message (an exception's
text is the submission's own, and may carry the inputs out), nothing that was printed, no seed, no time, and no likely mistake. What could
not even be read was never run, so why it could not is told in any case.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeVar

from trainer.classroom.assignment import total
from trainer.classroom.records import AssignedChallenge, Assignment, StudentResult
from trainer.model.checks import Status
from trainer.report.class_words import VERDICTS, checks_passed
from trainer.report.visible import visible

NOT_GRADED = "This could not be graded, which is not your fault. Tell your teacher."
UNSETTLED = "Not graded yet: more than one submission came under this name. Tell your teacher."
_SKIPPED = "not made: something that it needs did not pass"
_VOID = "It counts nothing here: what the challenge asks for was not written from scratch."

_Key = TypeVar("_Key", bound=Hashable)


@dataclass(frozen=True)
class StudentCheck:
    """One check. `points` of `most`, in the units asked for; `line` of the student's file, where that is told."""

    name: str
    status: Status
    points: int
    most: int
    says: str = ""
    line: int | None = None


@dataclass(frozen=True)
class StudentChallenge:
    """One challenge. `checks` is empty where only the verdict is told; else their points sum to `points`, of `most`."""

    challenge: str
    verdict: Literal["passed", "failed", "not graded"]
    says: str
    points: int
    most: int
    checks: tuple[StudentCheck, ...] = ()
    file: str = ""


@dataclass(frozen=True)
class StudentView:
    """All challenges of one student. `score`: 0 to 100, None where something could not be graded. `seconds`: None where it is not told."""

    score: float | None
    challenges: tuple[StudentChallenge, ...]
    seconds: float | None


def told(results: Iterable[StudentResult], assignment: Assignment, units: int) -> StudentView:
    """What this student is told. `units`: what all of the assignment is worth; every challenge and check gets a whole number of them."""
    by_challenge = {one.challenge: one for one in results}
    asked = [(one, by_challenge.get(one.challenge)) for one in assignment.asked]
    scores = {one.challenge: result.score for one, result in asked if result is not None}
    most = apportioned({one.challenge: one.worth for one in assignment.asked}, units)
    seconds = sum(result.seconds for _, result in asked if result is not None)
    return StudentView(
        score=total(scores, assignment),
        challenges=tuple(
            _challenge(one, result, assignment, most[one.challenge]) for one, result in asked
        ),
        seconds=seconds if assignment.shown == "report" else None,
    )


def apportioned(weights: Mapping[_Key, float], units: int) -> dict[_Key, int]:
    """Share out whole units by weight so that they sum exactly to `units` (largest remainders); all zero where no weight is positive."""
    largest = max(weights.values(), default=0.0)
    if largest <= 0:
        return dict.fromkeys(weights, 0)
    parts = {key: weight / largest for key, weight in weights.items()}  # so that no sum is infinite
    whole = math.fsum(parts.values())
    exact = {key: units * part / whole for key, part in parts.items()}
    shares = {key: int(share) for key, share in exact.items()}
    left = units - sum(shares.values())
    for key in sorted(exact, key=lambda key: shares[key] - exact[key])[:left]:
        shares[key] += 1
    return shares


def _challenge(
    asked: AssignedChallenge, result: StudentResult | None, assignment: Assignment, most: int
) -> StudentChallenge:
    if result is not None and result.unsettled:
        return StudentChallenge(asked.challenge, "not graded", UNSETTLED, 0, 0)
    if result is None or result.verdict is None:
        why = (
            f" {visible(result.error)}"
            if assignment.shown == "report" and result is not None and result.error
            else ""
        )
        return StudentChallenge(asked.challenge, "not graded", NOT_GRADED + why, 0, 0)
    verdict: Literal["passed", "failed"] = "passed" if result.verdict == "passed" else "failed"
    checks = () if assignment.shown == "verdict" else _checks(asked, result, assignment, most)
    points = (
        sum(one.points for one in checks) if checks else round(most * (result.score or 0.0) / 100)
    )
    return StudentChallenge(
        asked.challenge,
        verdict,
        _says(result, assignment),
        points,
        most,
        checks,
        visible(result.file),
    )


def _says(result: StudentResult, assignment: Assignment) -> str:
    """The verdict in words and, where they are told, the counts and the likely mistake."""
    words = VERDICTS[result.verdict][1] + (", late" if result.late else "")
    if assignment.shown == "verdict":
        return words + (f": {_messages(result, 'loads')}" if _never_ran(result) else "")
    passed, due = checks_passed(result)
    words += f", {passed} of {due} checks passed"
    if result.verdict == "not-allowed":
        words += f". {_VOID}"
    if assignment.shown == "report" and assignment.why:
        words += "".join(f"\nLikely: {mistake.says}" for mistake in result.mistakes)
    return words


def _checks(
    asked: AssignedChallenge, result: StudentResult, assignment: Assignment, most: int
) -> tuple[StudentCheck, ...]:
    statuses = result.statuses()
    worth = apportioned({name: asked.weights.get(name, 0.0) for name in statuses}, most)
    void = result.verdict == "not-allowed"
    explained = result.report.first_failure() if result.report else None
    found: list[StudentCheck] = []
    for name, status in statuses.items():
        points = worth[name] if status == "passed" and not void else 0
        says, line = _SKIPPED if status == "skipped" else "", None
        if status == "failed" and (assignment.shown == "report" or _never_ran(result)):
            says = _messages(result, name)
            if explained is not None and explained.check == name:
                says = visible(result.text, lines=True) or says
                line = explained.frames[-1].line if explained.frames else None
        found.append(StudentCheck(name, status, points, worth[name], says, line))
    # Where no check says so, the verdict does: a submission that cannot be read has no checks, and what did not pass is never all green.
    passed = result.verdict == "passed"
    if not sum(worth.values()) or (not passed and explained is None):
        rest = most - sum(worth.values())
        says = visible(result.text, lines=True) if assignment.shown == "report" else ""
        found.append(
            StudentCheck(
                "verdict",
                "passed" if passed else "failed",
                round(rest * (result.score or 0.0) / 100),
                rest,
                says,
            )
        )
    return tuple(found)


def _never_ran(result: StudentResult) -> bool:
    """Whether there was nothing to run: no seed was drawn, and no case is known to what is said of it."""
    if result.report is None or result.report.seed is not None:
        return False
    return result.statuses().get("loads") == "failed"


def _messages(result: StudentResult, check: str) -> str:
    """What one check says of every case that failed it."""
    return "\n".join(
        visible(f"{outcome.case}: {outcome.message}" if outcome.case else outcome.message)
        for outcome in result.outcomes
        if outcome.check == check and outcome.status == "failed"
    )
