"""Write one student's results as Gradescope's results.json.

The maximum of the assignment on Gradescope must be 100 points.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from attn_drill.classroom.records import Assignment, StudentGrade
from attn_drill.export.grade_words import override_words, points_lines
from attn_drill.export.student_view import ChallengeView, student_view
from attn_drill.report.visible import visible


def gradescope_object(grade: StudentGrade, assignment: Assignment) -> dict[str, Any]:
    """Return the object with the keys of Gradescope's documentation.

    It has no score if a challenge has no points: no student may get 0 points for a fault of the
    grader.
    """
    views = student_view(grade, assignment)
    content: dict[str, Any] = {} if grade.total is None else {"score": round(grade.total, 2)}
    if assignment.shown == "report":
        seconds = sum(result.seconds for result in grade.results)
        content["execution_time"] = round(seconds, 1)
    decided = [] if grade.override is None else [f"override: {override_words(grade.override)}"]
    content |= {
        "output": "\n\n".join([*map(visible, decided), *(_output(view) for view in views)]),
        # Also the default of Gradescope. Set here so that no text is ever read as markup.
        "output_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",  # the grader prints messages for the teacher only
    }
    tests = [] if grade.total is None else _tests(views)
    return content | ({"tests": tests} if tests else {})


def _output(view: ChallengeView) -> str:
    details = (f"{label}: {visible(words)}" for label, words in view.details)
    table = "\n".join((f"{view.challenge}: {view.says}", *details, *points_lines(view.rows)))
    return "\n\n".join(filter(None, (table, view.report.rstrip())))


def _tests(views: Sequence[ChallengeView]) -> list[dict[str, Any]]:
    """Return an entry for each check, with its points of the total before penalties."""
    return [
        {
            "name": f"{view.challenge}: {row.check}" if len(views) > 1 else row.check,
            "status": "passed" if row.status == "passed" else "failed",
            "output": view.reasons[row.check],
            "output_format": "text",
            "visibility": "visible",
            "score": round(view.share * row.points, 2),
            "max_score": round(view.share * row.most, 2),
        }
        for view in views
        for row in view.rows
    ]
