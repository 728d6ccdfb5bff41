"""The times of submissions: from a table of a person, from Moodle and from Gradescope.

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

from trainer.classroom.collect import Collected
from trainer.classroom.csv_file import listed, read_csv
from trainer.classroom.records import Assignment
from trainer.classroom.roster import EMAIL, LOGIN, NAME
from trainer.classroom.students import BY_ID, ID, StudentIndex, fits_words
from trainer.model.errors import DrillError
from trainer.model.listing import first_of

_TIME = (
    *("submitted", "submittedat", "submissiontime", "submissiondate", "lastmodifiedsubmission"),
    *("timestamp", "datetime", "createdat", "handedin", "handedinat"),
)
_NEXT_STEP = "Name a CSV file with the columns student and submitted."
_LIKE = "it must be like 2026-12-01 23:59 or 2026-12-01T23:59:00+01:00"
_MOST_NAMED = 5  # names in one sentence
_FORMATS = (
    "%Y-%m-%d %H:%M",
    "%Y-%m-%d %H:%M:%S",
    "%Y-%m-%d %H:%M:%S %z",
    "%A, %d %B %Y, %I:%M %p",  # Moodle
    "%A, %B %d, %Y, %I:%M %p",  # Moodle in the United States
)


class _Assignment(msgspec.Struct):
    due_date: str | None = None


class _User(msgspec.Struct):
    email: str | None = None
    id: int | str | None = None
    sid: int | str | None = None
    assignment: _Assignment | None = None


class _Metadata(msgspec.Struct):
    created_at: str | None = None
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


def read_submitted(path: Path) -> dict[str, float | None]:
    """Read the times of submissions by the student's id, user name, e-mail address or name.

    The time is None if the cell is empty or "-".

    Raises:
        DrillError: one sentence that names the file, the line, the cell and the accepted form.
    """
    table = read_csv(path, _NEXT_STEP)
    of_student = ("student", *ID, *LOGIN, *EMAIL, *NAME)
    if not table.has(*of_student):
        raise DrillError(
            f"{path}, line 1 has the columns {listed(table.headings)}, but none of them names the"
            " student. Name a column student."
        )
    if not table.has(*_TIME):
        raise DrillError(
            f"{path}, line 1 has the columns {listed(table.headings)}, but none of them has the"
            " time. Name a column submitted."
        )
    times: dict[str, float | None] = {}
    for line in table.lines:
        student, text = line.cell(*of_student), line.cell(*_TIME)
        time = read_time(text)
        if time is None and text not in ("", "-"):
            raise DrillError(f"{path}, line {line.number} has the time {text!r}; {_LIKE}.")
        if student in times and time != times[student]:
            raise DrillError(
                f"{path}, line {line.number} has a second time for {student}. Remove the line that"
                " does not count."
            )
        if student:
            times[student] = time
    return times


def with_times(
    collected: Collected, times: Mapping[str, float | None]
) -> tuple[Collected, list[str]]:
    """Return the submissions with the times of `--submitted`, which replace the system's times.

    Returns:
        The submissions, and sentences about unused and missing times. Their subject is the file
        with the times.

    Raises:
        DrillError: a student has two different times.
    """
    if not times:
        return collected, []
    index = StudentIndex(collected.students)
    present = {submission.student for submission in collected.submissions}
    by_name: dict[str, float] = {}
    unknown: list[str] = []
    absent: list[str] = []
    sentences: list[str] = []
    for key, time in times.items():
        fitting = index.find_all(key)
        if len(fitting) > 1:
            sentences.append(f"names “{key}”, which {fits_words(fitting)}. {BY_ID}")
        elif not fitting:
            unknown.append(key)
        elif time is not None:
            name = fitting[0].name
            if by_name.setdefault(name, time) != time:
                raise DrillError(
                    f"The times have two lines with different times for {name}. Remove the line"
                    " that does not count."
                )
            if name not in present:
                absent.append(key)
    timed = _with(collected, by_name)
    without = [
        submission.student
        for submission in timed.submissions
        if submission.submitted is None
        and submission.source is not None
        and not submission.has_late_marks
    ]
    sentences += [
        f"{words}: {first_of([f'“{name}”' for name in dict.fromkeys(names)], _MOST_NAMED)}."
        for words, names in (
            ("names students who handed in nothing", absent),
            ("names students who are not in this class", unknown),
            ("has no time for", without),
        )
        if names
    ]
    return timed, sentences


def with_moodle_times(collected: Collected) -> Collected:
    """Return the submissions with the times of Moodle's grading worksheet, if it is the roster."""
    column = "Last modified (submission)"
    times = {student.name: read_time(student.row.get(column, "")) for student in collected.students}
    return _with(collected, {name: time for name, time in times.items() if time is not None})


def with_gradescope(
    collected: Collected, assignment: Assignment, file: Path
) -> tuple[Collected, Assignment]:
    """Return a single student's submissions and the assignment, with Gradescope's metadata.

    The due time of the assignment counts before Gradescope's due time. In a group, the latest due
    time with an extension counts.

    Raises:
        DrillError: one sentence that names the file.
    """
    try:
        data = msgspec.json.decode(file.read_bytes(), type=_Metadata)
        submitted = _time(data.created_at)
        dues = [_time(each.assignment.due_date) for each in data.users if each.assignment]
        class_due = _time(data.assignment.due_date) if data.assignment else None
        due = max((due for due in dues if due is not None), default=class_due)
    except (OSError, msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise DrillError(
            f"{file} cannot be read as Gradescope's metadata: {error}. Download the submission"
            " again."
        ) from None
    if data.users:
        first = data.users[0]
        student_id = str(first.sid or first.id or "")
        students = [
            replace(student, id=student_id, email=first.email or "", system="gradescope")
            for student in collected.students
        ]
        collected = replace(collected, students=students)
    times = {student.name: submitted for student in collected.students if submitted is not None}
    if assignment.due is None:
        assignment = replace(assignment, due=due)
    return _with(collected, times), assignment


def _time(text: str | None) -> float | None:
    """Return a time of Gradescope's metadata.

    Raises:
        ValueError: the text is no time.
    """
    time = None if text is None else read_time(text)
    if text is not None and time is None:
        raise ValueError(f"the time {text!r} is unknown; {_LIKE}")
    return time


def _with(collected: Collected, times: Mapping[str, float]) -> Collected:
    """Return the submissions with these times, by the name of the student."""
    submissions = [
        submission
        if submission.is_missing
        else replace(submission, submitted=times.get(submission.student, submission.submitted))
        for submission in collected.submissions
    ]
    return replace(collected, submissions=submissions)
