"""Write one student's results in the format of GitHub Classroom's autograding, version 1."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable
from typing import Any

from trainer.classroom.records import Assignment, StudentGrade, StudentResult
from trainer.export.student_view import StudentChallenge, StudentCheck, StudentView, student_view

_MOST = 100  # whole points: the reporter writes "Points 67/100" for Classroom to read
# The machine that runs the workflow reads a log line as a command if it begins with `::` after
# blanks, or if it has `##[` anywhere.
_ORDER = re.compile(r"(?m)^(\s*):(?=:)")


def github_classroom_object(
    results: Iterable[StudentResult], assignment: Assignment, grade: StudentGrade | None = None
) -> dict[str, Any]:
    """Return the object that the reporter of GitHub Classroom reads.

    If a challenge could not be graded, `max_score` is 0 and the reporter sends no points.

    Args:
        results: the results of the student.
        assignment: the assignment of the class.
        grade: the grade of the student, with penalties and overrides; None without a gradebook.
    """
    view = student_view(results, assignment, _MOST, grade)
    tests = [test for challenge in view.challenges for test in _tests(challenge, view)]
    tests += _decided(view, sum(test["score"] for test in tests))
    verdicts = {challenge.verdict for challenge in view.challenges}
    status = "error" if "not graded" in verdicts else "fail" if "failed" in verdicts else "pass"
    return {
        "version": 1,
        "status": status,
        "max_score": 0 if view.score is None else _MOST,
        "tests": tests,
    }


def result_line(reported: dict[str, Any]) -> str:
    """Return the line `result=…` for the file that $GITHUB_OUTPUT names.

    The reporter reads the object from this line, in base64.
    """
    return (
        "result="
        + base64.b64encode(json.dumps(reported, allow_nan=False).encode()).decode("ascii")
        + "\n"
    )


def _decided(view: StudentView, points: int) -> list[dict[str, Any]]:
    """Return an entry about lateness and overrides, or nothing.

    The reporter adds up the points of all entries. So this entry has the points that a penalty
    takes, or that a person decided.
    """
    if not view.decided:
        return []
    difference = 0 if view.score is None else round(view.score) - points
    name, status = "lateness and decisions", "fail" if difference < 0 else "pass"
    entry = StudentChallenge(name, "passed", "", difference, 0)
    return [_test(entry, name, status, difference, "\n".join(view.decided), None, view)]


def _tests(challenge: StudentChallenge, view: StudentView) -> list[dict[str, Any]]:
    if not challenge.checks:  # the student sees only the verdict
        says = "" if challenge.verdict == "passed" else challenge.says
        status = {"passed": "pass", "failed": "fail", "not graded": "error"}[challenge.verdict]
        return [_test(challenge, challenge.challenge, status, challenge.points, says, None, view)]
    several = len(view.challenges) > 1
    return [
        _test(
            challenge,
            f"{challenge.challenge}: {check.name}" if several else check.name,
            "pass" if check.status == "passed" else "fail",
            check.points,
            _message(challenge, check),
            check.line,
            view,
        )
        for check in challenge.checks
    ]


def _message(challenge: StudentChallenge, check: StudentCheck) -> str:
    if check.status == "passed":
        return check.says
    says = check.says or f"{challenge.challenge}: {challenge.says}"
    return "\n".join(filter(None, (says, challenge.next_step if check.name == "loads" else "")))


def _test(
    challenge: StudentChallenge,
    name: str,
    status: str,
    points: int,
    message: str,
    line: int | None,
    view: StudentView,
) -> dict[str, Any]:
    return {
        "name": name,
        "status": status,
        "message": _ORDER.sub(r"\1: ", message).replace("##[", "## ["),
        "test_code": "",
        "filename": challenge.file if line is not None else "",
        "line_no": line or 0,
        "execution_time": "" if view.seconds is None else f"{view.seconds:.2f}s",
        "score": points if view.score is not None else 0,
    }
