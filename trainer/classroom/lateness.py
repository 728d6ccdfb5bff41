"""Decide whether a submission is late, and compute the penalty."""

from __future__ import annotations

import math
from collections.abc import Sequence

from trainer.classroom.records import (
    Assignment,
    Extension,
    Lateness,
    Student,
    StudentSubmission,
)
from trainer.classroom.submitted import find

_DAY = 86_400.0


def lateness_of(
    submission: StudentSubmission, student: Student, assignment: Assignment
) -> Lateness:
    """Compare the time of a submission with the due time of its student.

    If the time or the due time is unknown, only the system's own mark can make a submission late.
    Then no penalty is taken, because the number of days is unknown.
    """
    extension = find(assignment.extensions, student)
    due = _due(assignment, extension)
    known = Lateness(submitted=submission.submitted, due=due, is_extended=extension is not None)
    if due is None or submission.submitted is None:
        return _marked(known) if submission.is_marked_late else known
    if submission.submitted <= due + assignment.grace:
        return known
    days = max(1, math.ceil((submission.submitted - due) / _DAY))
    return Lateness(
        True,
        submission.submitted,
        due,
        known.is_extended,
        days,
        min(100.0, days * assignment.penalty),
    )


def _marked(known: Lateness) -> Lateness:
    return Lateness(True, known.submitted, known.due, known.is_extended, days=None)


def _due(assignment: Assignment, extension: Extension | None) -> float | None:
    """Return the due time of a student in seconds since the epoch, or None."""
    if extension is None:
        return assignment.due
    if extension.due is not None:
        return extension.due
    return None if assignment.due is None else assignment.due + (extension.days or 0) * _DAY


def unknown_extensions(assignment: Assignment, students: Sequence[Student]) -> list[str]:
    """Return the keys of `[extensions]` that name no student of the class."""
    keys = {key: key for key in assignment.extensions}
    used = {find(keys, student) for student in students}
    return [key for key in keys if key not in used]
