"""Write one student's results as Gradescope's results.json.

The maximum of the assignment on Gradescope must be 100 points.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from trainer.classroom.records import Assignment, StudentGrade, StudentResult
from trainer.export.student_view import StudentChallenge, StudentCheck, StudentView, student_view

_UNITS = 10_000  # hundredths of a point


def gradescope_object(
    results: Iterable[StudentResult], assignment: Assignment, grade: StudentGrade | None = None
) -> dict[str, Any]:
    """Return the object with the keys of Gradescope's documentation.

    The object has no score if a challenge could not be graded, because no student may get 0
    points for a fault of the grader.

    Args:
        results: the results of the student.
        assignment: the assignment of the class.
        grade: the grade of the student, with penalties and overrides; None without a gradebook.
    """
    view = student_view(results, assignment, _UNITS, grade)
    several = len(view.challenges) > 1
    content: dict[str, Any] = {} if view.score is None else {"score": round(view.score, 2)}
    if view.seconds is not None:
        content["execution_time"] = round(view.seconds, 1)
    content |= {
        "output": "\n\n".join(
            filter(None, ["\n".join(view.decided), *map(_says, view.challenges)])
        ),
        # Also the default of Gradescope. Set here so that no text is ever read as markup.
        "output_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",  # the grader prints messages for the teacher only
    }
    tests = [
        _test(challenge, check, view, several=several)
        for challenge in view.challenges
        for check in challenge.checks
    ]
    return content | ({"tests": tests} if tests else {})


def _says(challenge: StudentChallenge) -> str:
    says = " ".join(filter(None, (challenge.says, challenge.next_step)))
    return "\n".join((f"{challenge.challenge}: {says}", *challenge.table))


def _test(
    challenge: StudentChallenge, check: StudentCheck, view: StudentView, *, several: bool
) -> dict[str, Any]:
    test: dict[str, Any] = {
        "name": f"{challenge.challenge}: {check.name}" if several else check.name,
        "status": "passed" if check.status == "passed" else "failed",
        "output": check.says,
        "output_format": "text",
        "visibility": "visible",
    }
    if view.score is not None:
        test |= {"score": check.points / 100, "max_score": check.max_points / 100}
    return test
