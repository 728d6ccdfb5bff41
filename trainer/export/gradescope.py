"""One student's results as Gradescope's results.json; the assignment's maximum there must be 100 points."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from trainer.classroom.records import Assignment, StudentResult
from trainer.export.student_view import StudentChallenge, StudentCheck, StudentView, told

_UNITS = 10_000  # hundredths of a point


def gradescope_object(results: Iterable[StudentResult], assignment: Assignment) -> dict[str, Any]:
    """The object, as its documentation calls the keys. There is no score where something could not be graded: nobody gets a 0 for that."""
    found = told(results, assignment, _UNITS)
    several = len(found.challenges) > 1
    made: dict[str, Any] = {} if found.score is None else {"score": round(found.score, 2)}
    if found.seconds is not None:
        made["execution_time"] = round(found.seconds, 1)
    made |= {
        "output": "\n\n".join(f"{one.challenge}: {one.says}" for one in found.challenges),
        "output_format": "text",  # their default too; said so that nobody's text is ever taken for markup
        "visibility": "visible",
        "stdout_visibility": "hidden",  # what the grader prints is for the teacher
    }
    tests = [
        _test(one, check, found, several=several)
        for one in found.challenges
        for check in one.checks
    ]
    return made | ({"tests": tests} if tests else {})


def _test(
    challenge: StudentChallenge, check: StudentCheck, found: StudentView, *, several: bool
) -> dict[str, Any]:
    made: dict[str, Any] = {
        "name": f"{challenge.challenge}: {check.name}" if several else check.name,
        "status": "passed" if check.status == "passed" else "failed",
        "output": check.says,
        "output_format": "text",
        "visibility": "visible",
    }
    if found.score is not None:
        made |= {"score": check.points / 100, "max_score": check.most / 100}
    return made
