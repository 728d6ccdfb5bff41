"""Read `assignment.toml`: the assignment of a class, and how the class is graded."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from pathlib import Path
from typing import Annotated, Literal, get_args

import msgspec
from msgspec import Meta

from trainer.classroom.points import WEIGHTS
from trainer.classroom.records import AssignedChallenge, Assignment, Extension, Shown
from trainer.model.challenge import Challenge
from trainer.model.checks import CHECK_ORDER
from trainer.model.errors import DrillError
from trainer.model.limits import DEFAULT
from trainer.packs.toml import Keys, key_error, read_toml, suggestion

# The tables and pages that `class grade` writes.
Format = Literal[
    "csv", "html", "canvas", "moodle", "blackboard", "gradescope", "junit", "feedback", "markers",
    "similar",
]  # fmt: skip
FORMATS: tuple[Format, ...] = get_args(Format)
USUAL_FORMATS: tuple[Format, ...] = ("csv", "html")

DAY = 86_400.0  # seconds
_MOST_WEIGHT = 1_000_000
_MOST_DAYS = 366  # of a grace period or an extension
_MINUTE = 60.0
_LENGTHS = {
    **dict.fromkeys(("min", "minute"), _MINUTE),
    **dict.fromkeys(("h", "hour"), 60 * _MINUTE),
    **dict.fromkeys(("d", "day"), DAY),
    "week": 7 * DAY,
}
_LENGTH = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([a-z]+?)s?", re.IGNORECASE)
_A_TIME = "a day or a time without quotes: 2026-12-01 or 2026-12-01T23:59:00+01:00"


class Moment:
    """A day or a time. A day lasts until its end, and a time without an offset is local.

    Attributes:
        seconds: since the epoch.
        utc_offset: seconds from UTC to the time zone that the file names, or None.
    """

    def __init__(self, value: object) -> None:
        if not isinstance(value, date):  # datetime is a subclass of date
            raise ValueError(f"Write {_A_TIME}.")
        moment = value if isinstance(value, datetime) else datetime.combine(value, time.max)
        offset = moment.utcoffset()
        self.utc_offset = None if offset is None else offset.total_seconds()
        try:
            self.seconds = moment.timestamp()
        except (ValueError, OverflowError, OSError):
            raise ValueError("Name a day after 1970.") from None


class Grace:
    """A length of time: a number of minutes, or text with a unit."""

    def __init__(self, value: object) -> None:
        self.seconds = _seconds(value, _MINUTE)
        if self.seconds is None or self.seconds > _MOST_DAYS * DAY:
            raise ValueError(
                'Write a number of minutes, or text like "15 min", "2 h" or "1 day", at most'
                f" {_MOST_DAYS} days."
            )


class MoreTime:
    """An extension: a day or a time, a number of days, or text with a unit."""

    def __init__(self, value: object) -> None:
        if isinstance(value, date):
            self.extension = Extension(due=Moment(value).seconds)
            return
        seconds = _seconds(value, DAY)
        if not seconds or seconds > _MOST_DAYS * DAY:
            raise ValueError(
                f'Write {_A_TIME}; or a number of days, or text like "2 days", at most'
                f" {_MOST_DAYS} days. A student with a dot needs quotes."
            )
        self.extension = Extension(days=seconds / DAY)


def _seconds(value: object, unit: float) -> float | None:
    """Return the seconds of a number or of text like "15 min"; None if it is no length of time.

    Args:
        value: the value of the file.
        unit: the seconds that a number without a unit counts.
    """
    if isinstance(value, str):
        match = _LENGTH.fullmatch(value.strip())
        length = None if match is None else _LENGTHS.get(match[2].lower())
        return None if match is None or length is None else float(match[1]) * length
    if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0:
        return float(value) * unit
    return None


class ChallengeTable(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The keys below `[[challenge]]`."""

    id: str
    worth: Annotated[float, Meta(gt=0, le=_MOST_WEIGHT)] = 1.0
    weights: dict[str, float] = {}

    def __post_init__(self) -> None:
        """Refuse unknown checks, negative weights, and weights that are all 0."""
        for check in self.weights.keys() - set(CHECK_ORDER):
            raise ValueError(
                f'`weights` name "{check}", which is not a check. {suggestion(check, CHECK_ORDER)}'
            )
        if not all(0 <= weight <= _MOST_WEIGHT for weight in self.weights.values()):
            raise ValueError(f"Give each of the `weights` a number from 0 to {_MOST_WEIGHT}.")
        if not any({**WEIGHTS, **self.weights}.values()):
            raise ValueError("All `weights` are 0. Give a check a weight above 0.")


class AssignmentFile(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The keys of `assignment.toml`."""

    challenge: Annotated[tuple[ChallengeTable, ...], Meta(min_length=1)]
    title: str = ""
    due: Moment | None = None
    grace: Grace | None = None
    penalty: Annotated[float, Meta(ge=0, le=100)] = 0.0  # points for each day late
    one_mistake: Annotated[float, Meta(ge=0, le=100)] = 0.0  # the least points of one mistake
    ungraded: Literal["empty", "zero"] = "empty"
    seconds: Annotated[float, Meta(gt=0, le=86_400)] = DEFAULT.seconds  # of CPU time
    memory_mib: Annotated[int, Meta(ge=16, le=1 << 20)] = DEFAULT.memory_mib
    students_see: Shown = "report"
    why: bool = True  # whether students see the likely mistake
    roster: str = ""  # a file, relative to this one
    times: str = ""  # the times of the submissions, a file relative to this one
    write: tuple[Format, ...] = ()
    seed: Annotated[int, Meta(ge=0, le=(1 << 63) - 1)] | None = None
    cases: Literal["same", "own"] = "same"  # for all students, or for each student
    extensions: dict[str, MoreTime] = {}


@dataclass(frozen=True)
class ClassSettings:
    """An assignment, and how its class is graded.

    Attributes:
        assignment: the assignment.
        roster: the file with the students, or None.
        times: the file with the times of the submissions, or None.
        write: the tables and pages; () for the usual ones.
        seed: the seed of the class; None for a fresh seed.
        has_own_cases: True if each student gets different cases.
    """

    assignment: Assignment
    roster: Path | None = None
    times: Path | None = None
    write: tuple[Format, ...] = ()
    seed: int | None = None
    has_own_cases: bool = False


def parse_formats(text: str) -> tuple[Format, ...]:
    """Return the formats of the option `--write`.

    Raises:
        DrillError: a format is unknown.
    """
    names = [name for part in text.split(",") if (name := part.strip().lower())]
    if unknown := [name for name in names if name not in FORMATS]:
        raise DrillError(
            f"--write names {', '.join(unknown)}; the formats are {', '.join(FORMATS)}."
        )
    return tuple(name for name in FORMATS if name in names)


def plain_assignment(challenge_id: str, title: str = "") -> Assignment:
    """Return an assignment with one challenge and default values for everything else."""
    return Assignment(title or challenge_id, (AssignedChallenge(challenge_id),))


def read_assignment(
    path: Path, find: Callable[[str], Challenge], *, needs_due: bool = True
) -> ClassSettings:
    """Read `assignment.toml`.

    Args:
        path: the file.
        find: return the challenge with an id, or raise DrillError with the nearest id.
        needs_due: refuse a penalty, a grace period and days of an extension without a due time.
            Gradescope gives a due time of its own.

    Raises:
        DrillError: one sentence that names the file, the line, the key and the next step.
    """
    if not path.exists():
        raise DrillError(
            f"There is no file {path}. Name the assignment's TOML file, or one challenge with"
            " --challenge."
        )
    file = read_toml(path, AssignmentFile)
    challenges = _challenges(file, path, find)
    due = None if file.due is None else file.due.seconds
    grace = file.grace.seconds if file.grace else 0.0
    assignment = Assignment(
        title=file.title.strip() or ", ".join(assigned.challenge for assigned in challenges),
        challenges=challenges,
        seconds=file.seconds,
        memory_mib=file.memory_mib,
        due=due,
        shown=file.students_see,
        why=file.why,
        grace=grace or 0.0,
        penalty=file.penalty,
        extensions={name: more.extension for name, more in file.extensions.items()},
        utc_offset=file.due.utc_offset if file.due else None,
        ungraded=file.ungraded,
        one_mistake=file.one_mistake,
    )
    for keys, sentence in _faults_of_times(assignment, needs_due=needs_due):
        raise key_error(path, keys, sentence)
    return ClassSettings(
        assignment,
        path.parent / file.roster if file.roster else None,
        path.parent / file.times if file.times else None,
        file.write,
        file.seed,
        file.cases == "own",
    )


def _challenges(
    file: AssignmentFile, path: Path, find: Callable[[str], Challenge]
) -> tuple[AssignedChallenge, ...]:
    challenges: dict[str, AssignedChallenge] = {}
    for index, table in enumerate(file.challenge):
        try:
            name = find(table.id).id
        except DrillError as error:
            raise key_error(path, ("challenge", index, "id"), str(error)) from None
        if name in challenges:
            raise key_error(
                path,
                ("challenge", index, "id"),
                f"`challenge` names {name} twice. Remove one of the two.",
            )
        challenges[name] = AssignedChallenge(name, table.weights, table.worth)
    return tuple(challenges.values())


def _faults_of_times(assignment: Assignment, *, needs_due: bool) -> list[tuple[Keys, str]]:
    """Return the settings that do not fit the due time: their keys, and a sentence."""
    faults: list[tuple[Keys, str]] = []
    due = assignment.due
    if due is None and needs_due:
        for key in ("penalty", "grace"):
            if getattr(assignment, key):
                faults.append(
                    ((key,), f"`{key}` needs a due time. Add due = 2026-12-01, or remove `{key}`.")
                )
    for student, more in assignment.extensions.items():
        keys = ("extensions", student)
        if due is None and needs_due and more.days is not None:
            faults.append(
                (keys, f"`{student}` has {more.days:g} more days, but the assignment has no due"
                 " time. Add due = 2026-12-01, or give the student a day."),
            )  # fmt: skip
        if due is not None and more.due is not None and more.due < due:
            faults.append(
                (keys, f"`{student}` has a time before the due time of the class. Give a later"
                 " time, or remove the line."),
            )  # fmt: skip
    return faults


def check_weights(assignment: Assignment, due: Callable[[str], Sequence[str]], path: Path) -> None:
    """Refuse a weight for a check that its challenge does not have, and weights that are all 0.

    Args:
        assignment: the assignment that was read from the file.
        due: return the names of the checks of a challenge. It is called only for challenges whose
            weights the assignment changes.
        path: the file of the assignment.

    Raises:
        DrillError: one sentence that names the file, the line and the checks of the challenge.
    """
    for index, assigned in enumerate(assignment.challenges):
        if not assigned.weights:
            continue
        checks = due(assigned.challenge)
        keys: Keys = ("challenge", index, "weights")
        for check in assigned.weights.keys() - set(checks):
            raise key_error(
                path,
                (*keys, check),
                f'`weights` of {assigned.challenge} name "{check}", but the challenge has no such'
                f" check. Its checks are {', '.join(checks)}.",
            )
        if not any({**WEIGHTS, **assigned.weights}[check] for check in checks):
            raise key_error(
                path,
                keys,
                f"All checks of {assigned.challenge} have the weight 0, so every wrong answer"
                f" would have 0 points. Give one of them a weight above 0: {', '.join(checks)}.",
            )
