"""Decide whether a submission is late, and compute the penalty."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from trainer.classroom.assignment import DAY
from trainer.classroom.records import (
    Assignment,
    Lateness,
    Student,
    StudentSubmission,
)
from trainer.classroom.students import BY_ID, fits_words, key_of, keys_of
from trainer.model.errors import DrillError


def lateness_of(
    submission: StudentSubmission, student: Student, assignment: Assignment
) -> Lateness:
    """Compare the time of a submission with the due time of its student.

    If the time or the due time is unknown, only the system's own mark can make a submission late.
    Then no penalty is taken, because the number of days is unknown.
    """
    key = key_of(student, assignment.extensions)
    due = assignment.due if key is None else assignment.extensions[key]
    known = Lateness(
        submitted=submission.submitted,
        due=due,
        is_extended=key is not None,
        utc_offset=assignment.utc_offset,
        is_known=submission.has_late_marks,
    )
    if due is None or submission.submitted is None:
        return replace(known, is_late=True, days=None) if submission.is_marked_late else known
    if submission.submitted <= due + assignment.grace:
        return known
    days = max(1, math.ceil((submission.submitted - due) / DAY))
    return replace(known, is_late=True, days=days, penalty=min(100.0, days * assignment.penalty))


def unknown_extensions(assignment: Assignment, students: Sequence[Student]) -> list[str]:
    """Return the keys of `[extensions]` that name no student of the class."""
    used = {key for student in students for key in keys_of(student, assignment.extensions)}
    return [key for key in assignment.extensions if key not in used]


def check_extensions(assignment: Assignment, students: Sequence[Student]) -> None:
    """Refuse two different extensions of one student, and one extension that fits two students.

    Raises:
        DrillError: one sentence with the keys and the next step.
    """
    fitting: dict[str, list[Student]] = defaultdict(list)
    for student in students:
        keys = keys_of(student, assignment.extensions)
        for key in keys:
            fitting[key].append(student)
        if any(assignment.extensions[key] != assignment.extensions[keys[0]] for key in keys):
            raise DrillError(
                f"[extensions] gives {student.name} two different extensions: {', '.join(keys)}."
                " Remove the line that does not count."
            )
    for key, named in fitting.items():
        if len(named) > 1:
            raise DrillError(f"[extensions] names “{key}”, which {fits_words(named)}. {BY_ID}")
