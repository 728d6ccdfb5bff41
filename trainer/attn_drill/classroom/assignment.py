"""Read `assignment.toml`, which says how a class is graded, and the times of the submissions.

The times are in a table, for example Moodle's worksheet, or come from Gradescope, whose
`submission_metadata.json` has the keys "created_at", "assignment" with "due_date", and "users" with
"name", "email", "id", sometimes "sid", and sometimes the user's own "assignment", whose "due_date"
includes the user's extension.
source: Gradescope Autograder Documentation, "Submission Metadata",
https://gradescope-autograders.readthedocs.io/en/latest/submission_metadata/
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import date, datetime, time
from pathlib import Path
from typing import Annotated, Literal, get_args

import msgspec
from msgspec import Meta

from attn_drill.classroom.collect import Collected
from attn_drill.classroom.records import AssignedChallenge, Assignment, Format, Shown
from attn_drill.classroom.roster import EMAIL, ID, LOGIN, NAME, by_student, listed, read_csv
from attn_drill.model.challenge import DEFAULT_LIMITS, Challenge
from attn_drill.model.checks import CHECK_ORDER
from attn_drill.model.errors import DrillError
from attn_drill.packs.toml import key_error, read_toml, suggestion

FORMATS: tuple[Format, ...] = get_args(Format)
USUAL_FORMATS: tuple[Format, ...] = ("csv", "html")

DAY = 86_400.0  # seconds
_MOST_WEIGHT = 1_000_000
_MOST_MINUTES = 366 * 24 * 60
_MOST_DAYS = 366  # of an extension
_A_TIME = "a day or a time without quotes: 2026-12-01 or 2026-12-01T23:59:00+01:00"

# The headings of a column with times, in the form of `plain_heading`. Earlier ones come first.
_TIME = (
    *("submitted", "submittedat", "submissiontime", "submissiondate", "lastmodifiedsubmission"),
    *("timestamp", "datetime", "createdat", "handedin", "handedinat"),
)
_NEXT_STEP = "Name a CSV file with the columns student and submitted."
_TIME_FORMATS = (
    "%Y-%m-%d %H:%M",
    "%Y-%m-%d %H:%M:%S",
    "%Y-%m-%d %H:%M:%S %z",
    "%A, %d %B %Y, %I:%M %p",  # Moodle
    "%A, %B %d, %Y, %I:%M %p",  # Moodle in the United States
)


class Moment:
    """A day or a time. A day lasts until its end, and a time without an offset is local."""

    def __init__(self, value: object) -> None:
        if not isinstance(value, date):  # datetime is a subclass of date
            raise ValueError(f"Write {_A_TIME}.")
        moment = value if isinstance(value, datetime) else datetime.combine(value, time.max)
        offset = moment.utcoffset()
        self.utc_offset = None if offset is None else offset.total_seconds()
        self.seconds = moment.timestamp()


class MoreTime:
    """An extension: a day or a time, or a number of days after the due time of the class."""

    def __init__(self, value: object) -> None:
        self.due, self.days = None, 0.0
        if isinstance(value, date):
            self.due = Moment(value).seconds
        elif isinstance(value, int | float):
            self.days = float(value)
        if self.due is None and not 0 < self.days <= _MOST_DAYS:
            raise ValueError(
                f"Write {_A_TIME}, or a number of days up to {_MOST_DAYS}. A student with a dot"
                " needs quotes."
            )


class ChallengeTable(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The keys below `[[challenge]]`."""

    id: str
    worth: Annotated[float, Meta(gt=0, le=_MOST_WEIGHT)] = 1.0
    weights: dict[str, float] = {}

    def __post_init__(self) -> None:
        for check in self.weights.keys() - set(CHECK_ORDER):
            raise ValueError(
                f'`weights` name "{check}", which is not a check. {suggestion(check, CHECK_ORDER)}'
            )
        if not all(0 <= weight <= _MOST_WEIGHT for weight in self.weights.values()):
            raise ValueError(f"Give each of the `weights` a number from 0 to {_MOST_WEIGHT}.")


class AssignmentFile(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The keys of `assignment.toml`."""

    challenge: Annotated[tuple[ChallengeTable, ...], Meta(min_length=1)]
    title: str = ""
    due: Moment | None = None
    grace: Annotated[float, Meta(ge=0, le=_MOST_MINUTES)] = 0.0  # minutes
    penalty: Annotated[float, Meta(ge=0, le=100)] = 0.0  # points for each day late
    one_mistake: Annotated[float, Meta(ge=0, le=100)] = 0.0  # the least points of one mistake
    ungraded: Literal["empty", "zero"] = "empty"  # points of what a person must settle
    seconds: Annotated[float, Meta(gt=0, le=86_400)] = DEFAULT_LIMITS.seconds  # of CPU time
    memory_mib: Annotated[int, Meta(ge=16, le=1 << 20)] = (
        DEFAULT_LIMITS.memory_mib
    )  # beyond torch's own
    students_see: Shown = "report"
    why: bool = True  # whether students see the likely mistake
    roster: str = ""  # a file, relative to this one
    times: str = ""  # the times of the submissions, a file relative to this one
    write: tuple[Format, ...] = ()
    seed: Annotated[int, Meta(ge=0, le=(1 << 63) - 1)] | None = None
    cases: Literal["same", "own"] = "same"  # for all students, or for each student
    extensions: dict[str, MoreTime] = {}


def parse_formats(text: str) -> tuple[Format, ...]:
    """Return the formats of the option `--write`, or raise DrillError."""
    names = [name for part in text.split(",") if (name := part.strip().lower())]
    if unknown := [name for name in names if name not in FORMATS]:
        raise DrillError(
            f"--write names {', '.join(unknown)}; the formats are {', '.join(FORMATS)}."
        )
    return tuple(name for name in FORMATS if name in names)


def plain_assignment(challenge_id: str, title: str = "") -> Assignment:
    """Return an assignment of one challenge with the usual settings."""
    return Assignment(title or challenge_id, (AssignedChallenge(challenge_id),))


def read_assignment(
    path: Path, find: Callable[[str], Challenge], *, needs_due: bool = True
) -> Assignment:
    """Read `assignment.toml`, or raise DrillError. `find` returns the challenge with an id.

    With `needs_due`, refuse a penalty without a due time. Gradescope gives one itself.
    """
    file = read_toml(path, AssignmentFile)
    for key in ("penalty", "grace"):
        if file.due is None and needs_due and getattr(file, key):
            raise key_error(
                path,
                (key,),
                f"`{key}` needs a due time. Add due = 2026-12-01, or remove `{key}`.",
            )
    challenges: dict[str, AssignedChallenge] = {}
    for index, table in enumerate(file.challenge):
        try:
            name = find(table.id).id
            if name in challenges:
                raise DrillError(f"`challenge` names {name} twice. Remove one of the two.")
        except DrillError as error:
            raise key_error(path, ("challenge", index, "id"), str(error)) from None
        challenges[name] = AssignedChallenge(name, table.weights, table.worth)
    values = msgspec.structs.asdict(file) | {
        "title": file.title.strip() or ", ".join(challenges),
        "challenges": tuple(challenges.values()),
        "due": None if file.due is None else file.due.seconds,
        "utc_offset": None if file.due is None else file.due.utc_offset,
        "grace": file.grace * 60,
        "shown": file.students_see,
        "extensions": _extensions(file, path),
        "roster": str(path.parent / file.roster) if file.roster else "",
        "times": str(path.parent / file.times) if file.times else "",
    }
    del values["challenge"], values["students_see"]
    return Assignment(**values)


def _extensions(file: AssignmentFile, path: Path) -> dict[str, float]:
    """Return the due time of each student who has more time."""
    extensions: dict[str, float] = {}
    for student, more in file.extensions.items():
        class_due = None if file.due is None else file.due.seconds
        due = more.due
        if due is None and class_due is not None:
            due = class_due + more.days * DAY
        if due is None or (class_due is not None and due < class_due):
            raise key_error(
                path,
                ("extensions", student),
                f"`{student}` has no time after the due time of the class. Give a later time, or"
                " add the due time, for example due = 2026-12-01.",
            )
        extensions[student] = due
    return extensions


def check_weights(assignment: Assignment, due: Callable[[str], Sequence[str]], path: Path) -> None:
    """Refuse a weight for a check that its challenge does not have.

    `due` returns the names of the checks of a challenge. It costs a grading.
    """
    for index, assigned in enumerate(assignment.challenges):
        checks = due(assigned.challenge) if assigned.weights else ()
        for check in assigned.weights.keys() - set(checks):
            raise key_error(
                path,
                ("challenge", index, "weights", check),
                f'`weights` of {assigned.challenge} name "{check}", but the challenge has no such'
                f" check. Its checks are {', '.join(checks)}.",
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
    for form in _TIME_FORMATS:
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
        moment = read_time(text)
        if moment is not None and student:
            times.append((student, moment))
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
