"""Decide whether a submission is late, and compute the penalty."""

from __future__ import annotations

import math
from dataclasses import replace

from attn_drill.classroom.assignment import DAY
from attn_drill.classroom.records import Assignment, Lateness, StudentSubmission


def lateness_of(submission: StudentSubmission, assignment: Assignment) -> Lateness:
    """Compare the time of a submission with the due time of its student.

    If one of them is unknown, only the system's own mark can make a submission late. No penalty is
    taken then, because the number of days is unknown.
    """
    due = assignment.extensions.get(submission.student, assignment.due)
    in_time = Lateness(
        submitted=submission.submitted,
        due=due,
        is_extended=submission.student in assignment.extensions,
        utc_offset=assignment.utc_offset,
    )
    if due is None or submission.submitted is None:
        return replace(in_time, is_late=True, days=None) if submission.is_marked_late else in_time
    if submission.submitted <= due + assignment.grace:
        return in_time
    days = max(1, math.ceil((submission.submitted - due) / DAY))
    return replace(in_time, is_late=True, days=days, penalty=min(100.0, days * assignment.penalty))
