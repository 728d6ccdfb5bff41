"""One student's results as what a runner of GitHub Classroom's autograding reports, version 1."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable
from typing import Any

from trainer.classroom.records import Assignment, StudentResult
from trainer.export.student_view import StudentChallenge, StudentCheck, StudentView, told

_MOST = 100  # whole points: the reporter writes "Points 67/100" for Classroom to read
# A log line that begins so, blanks aside, is an order to the machine that runs the workflow; so is `##[` anywhere.
_ORDER = re.compile(r"(?m)^(\s*):(?=:)")


def github_classroom_object(
    results: Iterable[StudentResult], assignment: Assignment
) -> dict[str, Any]:
    """The object. Where something could not be graded, `max_score` is 0, and the reporter sends no points at all."""
    found = told(results, assignment, _MOST)
    tests = [test for one in found.challenges for test in _tests(one, found)]
    verdicts = {one.verdict for one in found.challenges}
    status = "error" if "not graded" in verdicts else "fail" if "failed" in verdicts else "pass"
    return {
        "version": 1,
        "status": status,
        "max_score": 0 if found.score is None else _MOST,
        "tests": tests,
    }


def result_line(reported: dict[str, Any]) -> str:
    """The line `result=…` for the file that $GITHUB_OUTPUT names; the reporter reads it from there, in base64."""
    return (
        "result="
        + base64.b64encode(json.dumps(reported, allow_nan=False).encode()).decode("ascii")
        + "\n"
    )


def _tests(challenge: StudentChallenge, found: StudentView) -> list[dict[str, Any]]:
    if not challenge.checks:  # only the verdict is told
        says = "" if challenge.verdict == "passed" else challenge.says
        status = {"passed": "pass", "failed": "fail", "not graded": "error"}[challenge.verdict]
        return [_test(challenge, challenge.challenge, status, challenge.points, says, None, found)]
    several = len(found.challenges) > 1
    return [
        _test(
            challenge,
            f"{challenge.challenge}: {check.name}" if several else check.name,
            "pass" if check.status == "passed" else "fail",
            check.points,
            _message(challenge, check),
            check.line,
            found,
        )
        for check in challenge.checks
    ]


def _message(challenge: StudentChallenge, check: StudentCheck) -> str:
    if check.status == "passed":
        return ""
    return check.says or f"{challenge.challenge}: {challenge.says}"


def _test(
    challenge: StudentChallenge,
    name: str,
    status: str,
    points: int,
    message: str,
    line: int | None,
    found: StudentView,
) -> dict[str, Any]:
    return {
        "name": name,
        "status": status,
        "message": _ORDER.sub(r"\1: ", message).replace("##[", "## ["),
        "test_code": "",
        "filename": challenge.file if line is not None else "",
        "line_no": line or 0,
        "execution_time": "" if found.seconds is None else f"{found.seconds:.2f}s",
        "score": points if found.score is not None else 0,
    }
