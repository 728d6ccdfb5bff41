"""Write the page that one student gets back, with the template `feedback.html.jinja`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trainer.classroom.records import Assignment, StudentGrade, StudentResult
from trainer.export.grade_words import override_words, penalty_taken
from trainer.export.student_view import student_view
from trainer.report.class_words import points
from trainer.report.coloured import coloured
from trainer.report.pages import page


def feedback_html(
    grade: StudentGrade, results: Sequence[StudentResult], assignment: Assignment
) -> Iterator[str]:
    """Yield the page in small pieces.

    Args:
        grade: the grade of the student.
        results: the results of the student.
        assignment: the assignment, with the part of a report that students see.
    """
    return page(
        "feedback",
        title=assignment.title.strip() or "Feedback",
        student=grade.student.name,
        grade=grade,
        parts=student_view(grade, results, assignment),
        decided=None if grade.override is None else override_words(grade.override),
        penalty_taken=penalty_taken,
        points=points,
        coloured=coloured,
    )
