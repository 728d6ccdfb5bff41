"""Read the times of submissions from `--submitted`, from Moodle and from Gradescope.

The file `submission_metadata.json` has the keys "created_at", "assignment" with "due_date", and
"users" with "name", "email", "id", sometimes "sid", and sometimes the user's own "assignment",
whose "due_date" includes the user's extension.
source: Gradescope Autograder Documentation, "Submission Metadata",
https://gradescope-autograders.readthedocs.io/en/latest/submission_metadata/
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import msgspec

from trainer.classroom.csv_file import CsvLine, CsvTable, listed, read_csv
from trainer.classroom.name_forms import key_form
from trainer.classroom.records import Student
from trainer.classroom.roster import EMAIL, FIRST_NAME, ID, LAST_NAME, LOGIN, NAME
from trainer.model.errors import DrillError

_TIME = (
    *("submitted", "submittedat", "submissiontime", "submissiondate", "lastmodifiedsubmission"),
    *("timestamp", "datetime", "createdat", "handedin", "handedinat"),
)
_NEXT_STEP = "Name a CSV file with the columns student and submitted."
_ISO = re.compile(
    r"(?P<day>[0-9]{4}-[0-9]{2}-[0-9]{2})[T ]"
    r"(?P<time>[0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?)"
    r" *(?P<offset>Z|UTC|[+-][0-9]{2}:?[0-9]{2})?",
    re.IGNORECASE,
)
_MONTHS = (
    "january february march april may june july august september october november december".split()
)
# Moodle's English forms: "Saturday, 21 November 2026, 10:11 PM" and, in the United States,
# "Saturday, November 21, 2026, 10:11 PM".
_MOODLE = re.compile(
    r"(?:[a-z]+, *)?"
    r"(?:(?P<day>[0-9]{1,2}) +(?P<month>[a-z]+)|(?P<us_month>[a-z]+) +(?P<us_day>[0-9]{1,2})),?"
    r" +(?P<year>[0-9]{4}),? +(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2}))?"
    r" *(?P<half>[ap]m)?",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class GradescopeMetadata:
    """The data of Gradescope about one submission.

    Attributes:
        students: the students who handed it in; several for a group.
        submitted: the time of the submission in seconds since the epoch, or None.
        due: the due time of these students with their extension, or None. In a group, the latest
            due time counts.
    """

    students: tuple[Student, ...]
    submitted: float | None
    due: float | None


class _Assignment(msgspec.Struct):
    due_date: str | None = None


class _User(msgspec.Struct):
    name: str | None = None
    email: str | None = None
    id: int | str | None = None
    sid: int | str | None = None
    assignment: _Assignment | None = None


class _Metadata(msgspec.Struct):
    created_at: str | None = None
    assignment: _Assignment | None = None
    users: list[_User] = []


def read_submitted(path: Path) -> dict[str, float | None]:
    """Read the times of submissions in seconds since the epoch, by the name of the student.

    The time is None if the cell is empty or "-".

    Raises:
        DrillError: one sentence that names the file, the line, the cell and the accepted form.
    """
    table = read_csv(path, _NEXT_STEP)
    student_headings = _student_headings(path, table)
    time_headings = _time_headings(path, table)
    times: dict[str, float | None] = {}
    lines: dict[str, int] = {}
    for line in table.lines:
        student = " ".join(_cells(line, student_headings))
        text = " ".join(_cells(line, time_headings))
        is_empty = text in ("", "-")
        if is_empty and not student:
            continue
        if not student:
            raise DrillError(
                f"{path}, line {line.number} has a time, but no student. Add the student's name."
            )
        key = key_form(student)
        if key in lines:
            raise DrillError(
                f"{path}, lines {lines[key]} and {line.number} both have a time for {student}."
                " Remove the line that does not count."
            )
        lines[key] = line.number
        times[student] = None if is_empty else _time_of_cell(path, line, text)
    return times


def iso_time(text: str) -> float | None:
    """Return a time in seconds since the epoch, or None if the text is no time.

    Times are "2026-12-01 23:59", "2026-12-01T23:59:00+01:00" and "2026-12-01T22:59:00Z". A time
    without an offset is in the time zone of this machine.
    """
    found = _ISO.fullmatch(text.strip())
    if found is None:
        return None
    offset = (found["offset"] or "").upper()
    clock = found["time"].zfill(len(found["time"]) + (found["time"][1] == ":"))
    return _seconds(f"{found['day']}T{clock}{'+00:00' if offset in ('Z', 'UTC') else offset}")


def moodle_time(text: str) -> float | None:
    """Return the time of a cell of Moodle's grading worksheet in seconds since the epoch.

    Return None for "-", which means that nothing was handed in, and for a time in another
    language than English. The time is in the time zone of this machine.
    """
    found = _MOODLE.fullmatch(text.strip().replace("\u202f", " "))
    if found is None:
        return iso_time(text)
    month = (found["month"] or found["us_month"]).lower()
    if month not in _MONTHS:
        return None
    hour, half = int(found["hour"]), (found["half"] or "").lower()
    if half:
        hour = hour % 12 + (12 if half == "pm" else 0)
    day = int(found["day"] or found["us_day"])
    return _seconds(
        f"{found['year']}-{_MONTHS.index(month) + 1:02}-{day:02}"
        f"T{hour:02}:{found['minute']}:{found['second'] or '00'}"
    )


def read_gradescope_metadata(path: Path) -> GradescopeMetadata:
    """Read Gradescope's `submission_metadata.json`.

    Raises:
        DrillError: one sentence that names the file.
    """
    try:
        data = msgspec.json.decode(path.read_bytes(), type=_Metadata)
    except OSError as error:
        raise DrillError(
            f"{path} cannot be read: {error.strerror or error}. Download the submission again."
        ) from None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise DrillError(
            f"{path} is not Gradescope's metadata: {error}. Download the submission again."
        ) from None
    class_due = _time_of_key(path, "due_date", _due_date(data.assignment))
    own_dues = [
        due
        for user in data.users
        if (due := _time_of_key(path, "due_date", _due_date(user.assignment))) is not None
    ]
    return GradescopeMetadata(
        tuple(_student(user) for user in data.users),
        _time_of_key(path, "created_at", data.created_at),
        max(own_dues, default=class_due),
    )


def _student_headings(path: Path, table: CsvTable) -> list[str]:
    """Return the headings of the columns that name the student."""
    heading = table.heading("student", *ID, *LOGIN, *EMAIL, *NAME)
    if heading is not None:
        return [heading]
    first, last = table.heading(*FIRST_NAME), table.heading(*LAST_NAME)
    if first is None or last is None:
        raise DrillError(
            f"{path}, line 1 has the columns {listed(table.headings)}, but none of them names the"
            " student. Name a column student."
        )
    return [first, last]


def _time_headings(path: Path, table: CsvTable) -> list[str]:
    """Return the headings of the column of the times, or of the columns date and time."""
    heading = table.heading(*_TIME)
    if heading is not None:
        return [heading]
    date, time = table.heading("date"), table.heading("time")
    headings = [heading for heading in (date, time) if heading is not None]
    if not headings:
        raise DrillError(
            f"{path}, line 1 has the columns {listed(table.headings)}, but none of them has the"
            " time. Name a column submitted."
        )
    return headings


def _cells(line: CsvLine, headings: Iterable[str]) -> list[str]:
    return [cell for heading in headings if (cell := line.cells[heading].strip())]


def _time_of_cell(path: Path, line: CsvLine, text: str) -> float:
    time = moodle_time(text)
    if time is None:
        raise DrillError(
            f"{path}, line {line.number} has the time {text!r}; it must be like"
            " 2026-12-01 23:59 or 2026-12-01T23:59:00+01:00."
        )
    return time


def _time_of_key(path: Path, key: str, text: str | None) -> float | None:
    time = None if text is None else iso_time(text)
    if text is not None and time is None:
        raise DrillError(
            f"{path}: “{key}” is {text!r}; it must be like 2026-12-01T23:59:00+01:00. Download the"
            " submission again."
        )
    return time


def _due_date(assignment: _Assignment | None) -> str | None:
    return None if assignment is None else assignment.due_date


def _student(user: _User) -> Student:
    sid = "" if user.sid is None else str(user.sid)
    system_id = "" if user.id is None else str(user.id)
    email = user.email or ""
    return Student(
        name=user.name or email or sid or system_id,
        id=sid or system_id,
        email=email,
        system="gradescope",
        system_id=system_id,
    )


def _seconds(text: str) -> float | None:
    try:
        time = datetime.fromisoformat(text).timestamp()
        datetime.fromtimestamp(time)  # reports show the time in the zone of this machine
        return time
    except (ValueError, OverflowError, OSError):
        return None
