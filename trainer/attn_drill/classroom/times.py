"""The times of submissions: from a table, for example Moodle's worksheet, and from Gradescope.

Gradescope's `submission_metadata.json` has the keys "created_at", "assignment" with "due_date", and
"users" with "name", "email", "id", sometimes "sid", and sometimes the user's own "assignment",
whose "due_date" includes the user's extension.
source: Gradescope Autograder Documentation, "Submission Metadata",
https://gradescope-autograders.readthedocs.io/en/latest/submission_metadata/
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import msgspec

from attn_drill.classroom.collect import Collected
from attn_drill.classroom.records import Assignment
from attn_drill.classroom.roster import EMAIL, ID, LOGIN, NAME, by_student, listed, read_csv
from attn_drill.model.errors import DrillError

_TIME = (
    *("submitted", "submittedat", "submissiontime", "submissiondate", "lastmodifiedsubmission"),
    *("timestamp", "datetime", "createdat", "handedin", "handedinat"),
)
_NEXT_STEP = "Name a CSV file with the columns student and submitted."
_FORMATS = (
    "%Y-%m-%d %H:%M",
    "%Y-%m-%d %H:%M:%S",
    "%Y-%m-%d %H:%M:%S %z",
    "%A, %d %B %Y, %I:%M %p",  # Moodle
    "%A, %B %d, %Y, %I:%M %p",  # Moodle in the United States
)


class _Assignment(msgspec.Struct):
    due_date: datetime | None = None


class _User(msgspec.Struct):
    email: str | None = None
    id: int | str | None = None
    sid: int | str | None = None
    assignment: _Assignment | None = None


class _Metadata(msgspec.Struct):
    created_at: datetime | None = None
    assignment: _Assignment | None = None
    users: list[_User] = []


def read_time(text: str) -> float | None:
    """Return a time in seconds since the epoch, or None if the text is no time.

    A time without an offset is in the time zone of this machine. A day alone is no time.
    """
    text = re.sub(r" *UTC$", "Z", text.strip().replace("\u202f", " "))
    with suppress(ValueError, OverflowError, OSError):
        if ":" in text:
            return datetime.fromisoformat(text).timestamp()
    for form in _FORMATS:
        with suppress(ValueError, OverflowError, OSError):
            return datetime.strptime(text, form).timestamp()
    return None


def with_times(collected: Collected, file: Path) -> tuple[Collected, list[str]]:
    """Return the submissions with the times of a file, and its words that fit no student."""
    table = read_csv(file, _NEXT_STEP)
    of_student = ("student", *ID, *LOGIN, *EMAIL, *NAME)
    if not (table.has(*of_student) and table.has(*_TIME)):
        raise DrillError(
            f"{file}, line 1 has the columns {listed(table.headings)}. Name two of them student and"
            " submitted."
        )
    times: list[tuple[str, float]] = []
    for line in table.lines:
        student, text = line.cell(*of_student), line.cell(*_TIME)
        time = read_time(text)
        if time is not None and student:
            times.append((student, time))
        elif text not in ("", "-"):
            raise DrillError(
                f"{file}, line {line.number} has the time {text!r} for {student or 'nobody'}; it"
                " must be like 2026-12-01 23:59 or 2026-12-01T23:59:00+01:00."
            )
    by_name, unknown = by_student(times, collected.students, str(file))
    return _with(collected, by_name), unknown


def with_gradescope(
    collected: Collected, assignment: Assignment, file: Path
) -> tuple[Collected, Assignment]:
    """Return a single student's submissions and the assignment, with Gradescope's metadata.

    The due time of the assignment counts before Gradescope's due time. In a group, the latest due
    time with an extension counts.
    """
    try:
        data = msgspec.json.decode(file.read_bytes(), type=_Metadata)
    except (OSError, msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise DrillError(
            f"{file} cannot be read as Gradescope's metadata: {error}. Download the submission"
            " again."
        ) from None
    for user in data.users[:1]:
        student_id = str(user.sid or user.id or "")
        students = [
            replace(student, id=student_id, email=user.email or "", system="gradescope")
            for student in collected.students
        ]
        collected = replace(collected, students=students)
    of_users = [user.assignment.due_date for user in data.users if user.assignment]
    of_class = [data.assignment.due_date] if data.assignment else []
    dues = list(filter(None, of_users)) or list(filter(None, of_class))
    if assignment.due is None and dues:
        assignment = replace(assignment, due=max(due.timestamp() for due in dues))
    if data.created_at is None:
        return collected, assignment
    submitted = data.created_at.timestamp()
    return _with(collected, {each.name: submitted for each in collected.students}), assignment


def _with(collected: Collected, times: Mapping[str, float]) -> Collected:
    submissions = [
        submission
        if submission.is_missing
        else replace(submission, submitted=times.get(submission.student, submission.submitted))
        for submission in collected.submissions
    ]
    return replace(collected, submissions=submissions)
