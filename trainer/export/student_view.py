"""Select the results that a student sees on another platform, and the points of each check.

Everything that could reveal a hidden case passes through this module. Unless students may see the
whole report, they see no message, no printed text, no seed, no time and no likely mistake.
Messages are left out because a submission writes the text of its exceptions and could put the
inputs of a case into it. A file that cannot be read was never run, so students always see the
reason. They also see why a file does not load, in the words of `load_words`.

No text here names an option or a command, because students have no command line.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeVar

from trainer.classroom.points import CheckPoints, check_points, total
from trainer.classroom.records import (
    AssignedChallenge,
    Assignment,
    StudentGrade,
    StudentResult,
)
from trainer.export.grade_words import lateness_rows, override_words, points_lines, status_words
from trainer.model.checks import Status
from trainer.report.class_words import VERDICTS, checks_passed
from trainer.report.visible import visible

NOT_GRADED = "This could not be graded, which is not your fault. Tell your teacher."
UNSETTLED = "Not graded yet: more than one submission has this name. Tell your teacher."
_NOT_READ = "Nothing could be checked. Ask your teacher whether you may hand in the file again."
_MISSING_MODULE = (
    "Nothing else could be checked, because {} does not exist where the file is graded. Use only"
    " torch and Python's own modules, with all code in one file, or ask your teacher."
)
_NOT_LOADED = (
    "Nothing else could be checked. Correct the file, and import it in a new Python process to make"
    " sure that it loads. Then ask your teacher whether you may hand it in again."
)
_SKIPPED = "incomplete: not every case could be judged"
_VOID = "The answer brings no points: it was not written from scratch, as the challenge requires."

_Key = TypeVar("_Key", bound=Hashable)


@dataclass(frozen=True)
class StudentCheck:
    """One check of a challenge.

    Attributes:
        name: the name of the check.
        status: the status over all cases.
        points: the points that the student gets, in the requested units.
        max_points: the points that a pass gives, in the requested units.
        says: the text for the student, or "".
        line: the line of the student's file, or None if the student does not see the line.
    """

    name: str
    status: Status
    points: int
    max_points: int
    says: str = ""
    line: int | None = None


@dataclass(frozen=True)
class StudentChallenge:
    """One challenge of an assignment.

    Attributes:
        challenge: the id of the challenge.
        verdict: the verdict that the student sees.
        says: the text for the student.
        table: the table of points, line by line. Empty if the student sees only the verdict.
        report: the report as text, or "" if the student does not see the report.
        points: the points that the student gets, in the requested units. The points of the checks
            sum to it.
        max_points: the points that a pass gives, in the requested units.
        checks: the checks. Empty if the student sees only the verdict.
        file: the path of the submission.
        next_step: a sentence for a file that cannot be read or does not load, or "".
    """

    challenge: str
    verdict: Literal["passed", "failed", "not graded"]
    says: str
    points: int
    max_points: int
    checks: tuple[StudentCheck, ...] = ()
    file: str = ""
    table: tuple[str, ...] = ()
    report: str = ""
    next_step: str = ""


@dataclass(frozen=True)
class StudentView:
    """All challenges of one student.

    Attributes:
        score: 0 to 100, or None if a challenge could not be graded.
        challenges: the challenges in the order of the assignment.
        seconds: the duration of the grading, or None if the student does not see the duration.
        decided: lines about lateness, penalties and overrides.
    """

    score: float | None
    challenges: tuple[StudentChallenge, ...]
    seconds: float | None
    decided: tuple[str, ...] = ()


def student_view(
    results: Iterable[StudentResult],
    assignment: Assignment,
    units: int,
    grade: StudentGrade | None = None,
) -> StudentView:
    """Return the results that one student sees.

    Args:
        results: the results of the student.
        assignment: the assignment, with the part of a report that students see.
        units: the points of the whole assignment. Every challenge and every check gets a whole
            number of points.
        grade: the grade of the student, with penalties and overrides; None without a gradebook.
    """
    by_challenge = {result.challenge: result for result in results}
    pairs = [(assigned, by_challenge.get(assigned.challenge)) for assigned in assignment.challenges]
    scores = {assigned.challenge: result.score for assigned, result in pairs if result is not None}
    max_points_of = apportioned(
        {assigned.challenge: assigned.worth for assigned in assignment.challenges}, units
    )
    seconds = sum(result.seconds for _, result in pairs if result is not None)
    return StudentView(
        score=total(scores, assignment) if grade is None else grade.total,
        challenges=tuple(
            _challenge(assigned, result, assignment, max_points_of[assigned.challenge])
            for assigned, result in pairs
        ),
        seconds=seconds if assignment.shown == "report" else None,
        decided=() if grade is None else _decided(grade),
    )


def _decided(grade: StudentGrade) -> tuple[str, ...]:
    """Return lines about lateness, penalties and overrides."""
    several = len(grade.challenges) > 1
    lines = [
        f"{f'{challenge}, ' if several else ''}{label}: {words}"
        for challenge, found in grade.challenges.items()
        for label, words in lateness_rows(found.lateness)
    ]
    lines += [
        f"{f'{override.challenge}, ' if override.challenge and several else ''}"
        f"override: {visible(override_words(override))}"
        for override in grade.overrides
    ]
    return tuple(lines)


def apportioned(weights: Mapping[_Key, float], units: int) -> dict[_Key, int]:
    """Divide whole units by weight, with the method of largest remainders.

    The shares sum exactly to `units`. All shares are 0 if no weight is positive.
    """
    largest = max(weights.values(), default=0.0)
    if largest <= 0:
        return dict.fromkeys(weights, 0)
    # Divide by the largest weight so that no sum is infinite.
    parts = {key: weight / largest for key, weight in weights.items()}
    whole = math.fsum(parts.values())
    exact = {key: units * part / whole for key, part in parts.items()}
    shares = {key: int(share) for key, share in exact.items()}
    remaining = units - sum(shares.values())
    for key in sorted(exact, key=lambda key: shares[key] - exact[key])[:remaining]:
        shares[key] += 1
    return shares


def _challenge(
    assigned: AssignedChallenge,
    result: StudentResult | None,
    assignment: Assignment,
    max_points: int,
) -> StudentChallenge:
    if result is not None and result.is_ungraded:
        return StudentChallenge(assigned.challenge, "not graded", UNSETTLED, 0, 0)
    if result is None or result.verdict is None:
        return StudentChallenge(assigned.challenge, "not graded", NOT_GRADED, 0, 0)
    verdict: Literal["passed", "failed"] = "passed" if result.verdict == "passed" else "failed"
    checks = (
        () if assignment.shown == "verdict" else _checks(assigned, result, assignment, max_points)
    )
    points = (
        sum(check.points for check in checks)
        if checks
        else round(max_points * (result.score or 0.0) / 100)
    )
    return StudentChallenge(
        assigned.challenge,
        verdict,
        _says(result, assignment),
        points,
        max_points,
        checks,
        visible(result.file),
        () if assignment.shown == "verdict" else points_lines(result, assigned),
        visible(result.text, lines=True) if assignment.shown == "report" else "",
        _next_step(result),
    )


def _next_step(result: StudentResult) -> str:
    """Return the next step for a file that cannot be read or does not load, or ""."""
    if result.report is None or result.statuses().get("loads") != "failed":
        return ""
    if result.missing_module:
        return _MISSING_MODULE.format(result.missing_module)
    return _NOT_READ if result.report.seed is None else _NOT_LOADED


def _says(result: StudentResult, assignment: Assignment) -> str:
    """Return the verdict in words, with the counts and the likely mistake if students see them."""
    words = VERDICTS[result.verdict][1] + (", late" if result.late else "")
    if assignment.shown == "verdict":
        reason = _load_reason(result)
        return words + (f": {reason}" if reason else "")
    passed, due = checks_passed(result)
    words += f", {passed} of {due} checks passed"
    if result.verdict == "not-allowed":
        words += f". {_VOID}"
    if assignment.shown == "report" and assignment.why:
        words += "".join(f"\nLikely: {mistake.says}" for mistake in result.mistakes)
    return words


def _checks(
    assigned: AssignedChallenge, result: StudentResult, assignment: Assignment, max_points: int
) -> tuple[StudentCheck, ...]:
    parts = () if result.report is None else check_points(result.report, assigned)
    worth = apportioned({part.check: part.share for part in parts}, max_points)
    explained = result.report.first_failure() if result.report else None
    found: list[StudentCheck] = []
    for part in parts:
        says, line = _says_of_check(part, result, assignment), None
        if explained is not None and explained.check == part.check:
            if assignment.shown == "report":
                says = visible(result.text, lines=True) or says
            if assignment.shown == "report" or _never_ran(result):
                line = explained.frames[-1].line if explained.frames else None
        gained = round(worth[part.check] * part.right)
        found.append(StudentCheck(part.check, part.status, gained, worth[part.check], says, line))
    # A submission that cannot be read has no checks, and a submission that did not pass must not
    # have only passed checks. Then an additional entry shows the verdict.
    passed = result.verdict == "passed"
    if not sum(worth.values()) or (not passed and explained is None):
        rest = max_points - sum(worth.values())
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


def _says_of_check(part: CheckPoints, result: StudentResult, assignment: Assignment) -> str:
    """Return the text about one check: its messages, or the reason why it brings no points."""
    if part.status == "skipped":
        return _SKIPPED
    if part.status == "passed":
        return "" if part.right == 1 or not part.share else status_words(part, result.verdict)
    if assignment.shown == "report":
        return _messages(result, part.check)
    return _load_reason(result) if part.check == "loads" else ""


def _load_reason(result: StudentResult) -> str:
    """Return the reason why a file cannot be read or does not load, if it cannot reveal a case."""
    return _messages(result, "loads") if _never_ran(result) else visible(result.load_words)


def _never_ran(result: StudentResult) -> bool:
    """Return whether nothing was run.

    No seed was drawn then, so the messages cannot reveal a case.
    """
    if result.report is None or result.report.seed is not None:
        return False
    return result.statuses().get("loads") == "failed"


def _messages(result: StudentResult, check: str) -> str:
    """Return the messages of all cases that failed a check."""
    return "\n".join(
        visible(f"{outcome.case}: {outcome.message}" if outcome.case else outcome.message)
        for outcome in result.outcomes
        if outcome.check == check and outcome.status == "failed"
    )
