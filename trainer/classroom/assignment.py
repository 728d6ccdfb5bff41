"""Read an assignment from `assignment.toml`."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import date, datetime, time
from pathlib import Path
from typing import Any, get_args

from trainer.classroom.points import WEIGHTS
from trainer.classroom.records import AssignedChallenge, Assignment, Extension, Shown
from trainer.model.challenge import Challenge
from trainer.model.checks import CHECK_ORDER
from trainer.model.errors import DrillError
from trainer.packs.toml_table import (
    TomlTable,
    as_toml,
    listed,
    read_toml_file,
    shown,
    shown_key,
    suggested,
)

MOST_SECONDS = 86_400.0
LEAST_MIB, MOST_MIB = 16, 1 << 20
MOST_DAYS = 366.0  # of a grace period or an extension
DAY = 86_400.0  # seconds

_CHALLENGE_KEYS = ("id", "worth", "weights")
_SETTINGS = tuple(
    "title due grace penalty seconds memory_mib students_see why extensions challenge".split()
)
_BELOW_CHALLENGE = dict.fromkeys(
    _CHALLENGE_KEYS, "It belongs to a challenge: move it below the [[challenge]] that it is for."
)
_ABOVE_CHALLENGE = dict.fromkeys(
    _SETTINGS, "It belongs to the whole assignment: move it above the first [[challenge]]."
)
_EXTENSIONS_EXAMPLE = '[extensions] and, below it, "ana@uni.example" = "2 days"'
_LENGTHS = {
    "min": 60.0,
    "minute": 60.0,
    "h": 3600.0,
    "hour": 3600.0,
    "d": DAY,
    "day": DAY,
    "week": 7 * DAY,
}
_LENGTH = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([a-z]+?)s?", re.IGNORECASE)
_DAY_OR_TIME = "2026-12-01 or 2026-12-01T23:59:00+01:00"


def plain_assignment(challenge_id: str) -> Assignment:
    """Return an assignment with one challenge and default values for everything else."""
    return Assignment(challenge_id, (AssignedChallenge(challenge_id),))


def read_assignment(path: Path, known: Callable[[str], Challenge]) -> Assignment:
    """Read `assignment.toml`.

    Args:
        path: the file.
        known: return the challenge with an id, or raise DrillError with the nearest id.

    Raises:
        DrillError: one sentence that names the file, the line and the key.
    """
    try:
        settings = read_toml_file(path).table()
    except FileNotFoundError:
        raise DrillError(
            f"There is no file {path}. Name the assignment's TOML file, or one challenge with"
            " --challenge."
        ) from None
    settings.refuse_unknown(_SETTINGS, _BELOW_CHALLENGE)
    challenges = _challenges(settings, known)
    plain = Assignment(", ".join(assigned.challenge for assigned in challenges), challenges)
    due = _moment(settings, "due") if "due" in settings.values else None
    return replace(
        plain,
        title=settings.text("title").strip() or plain.title,
        seconds=_seconds(settings, plain.seconds),
        memory_mib=_memory_mib(settings, plain.memory_mib),
        due=due,
        utc_offset=_utc_offset(settings.values.get("due")),
        shown=_students_see(settings, plain.shown),
        why=settings.truth("why", plain.why),
        grace=_grace(settings),
        penalty=_penalty(settings),
        extensions=_extensions(settings, due),
    )


def check_due(assignment: Assignment, path: Path) -> None:
    """Refuse settings for late submissions if the assignment has no due time.

    Args:
        assignment: the assignment, with the due time of the learning management system if the file
            has none.
        path: the file of the assignment.

    Raises:
        DrillError: one sentence that names the file, the line and the key.
    """
    settings = read_toml_file(path).table()
    if assignment.due is not None:
        return
    for key, is_set in (("penalty", assignment.penalty > 0), ("grace", assignment.grace > 0)):
        if is_set:
            raise settings.error(
                key,
                f"`{key}` needs a due time, but the assignment has none. Add due = 2026-12-01, or"
                f" remove `{key}`.",
            )
    for student, extension in assignment.extensions.items():
        if extension.days is not None:
            raise settings.table("extensions", _EXTENSIONS_EXAMPLE).error(
                student,
                f"`{shown_key(student)}` has {extension.days:g} more days, but the assignment has"
                " no due time. Add due = 2026-12-01, or give the student a day.",
            )


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
        checks = due(assigned.challenge) if assigned.weights else ()
        for check in assigned.weights:
            if check not in checks:
                raise read_toml_file(path).error(
                    ("challenge", index, "weights", check),
                    f'`weights` of {assigned.challenge} name "{check}", but the challenge has no'
                    f" such check. Its checks are {listed(checks)}.",
                )
        if checks and not any({**WEIGHTS, **assigned.weights}[check] for check in checks):
            raise read_toml_file(path).error(
                ("challenge", index, "weights"),
                f"All checks of {assigned.challenge} have the weight 0, so every wrong answer"
                f" would have 0 points. Give one of them a weight above 0: {listed(checks)}.",
            )


def _challenges(
    settings: TomlTable, known: Callable[[str], Challenge]
) -> tuple[AssignedChallenge, ...]:
    challenges: list[AssignedChallenge] = []
    for table in settings.tables("challenge"):
        assigned = _challenge(table, known)
        if any(earlier.challenge == assigned.challenge for earlier in challenges):
            raise table.error(
                "id",
                f"`challenge` names {assigned.challenge} twice. Remove one of the two.",
            )
        challenges.append(assigned)
    if not challenges:
        raise settings.error(
            "challenge", 'There is no challenge. Add [[challenge]] and, below it, id = "…".'
        )
    return tuple(challenges)


def _challenge(table: TomlTable, known: Callable[[str], Challenge]) -> AssignedChallenge:
    table.refuse_unknown(_CHALLENGE_KEYS, _ABOVE_CHALLENGE)
    if "id" not in table.values:
        raise table.error("id", 'The challenge has no `id`. Add id = "…" below [[challenge]].')
    try:
        challenge_id = known(table.text("id")).id
    except DrillError as error:
        is_type_error = not isinstance(table.values["id"], str)
        raise error if is_type_error else table.error("id", str(error)) from None
    worth = table.number("worth", 1.0)
    if not (math.isfinite(worth) and worth > 0):
        raise table.error(
            "worth", f"`worth` of {challenge_id} is {worth:g}; it must be a number above 0."
        )
    return AssignedChallenge(challenge_id, _weights(table, challenge_id), worth)


def _weights(table: TomlTable, challenge_id: str) -> dict[str, float]:
    """Return the weights that the file names."""
    weights = table.table("weights", "weights = { values = 5, masks = 2 }")
    changed: dict[str, float] = {}
    for check in weights.values:
        if check not in CHECK_ORDER:
            if check in _CHALLENGE_KEYS or check in _SETTINGS:
                advice = "A key that is not a weight must be above [challenge.weights]."
            else:
                advice = suggested(check, CHECK_ORDER, "checks")
            raise weights.error(
                check,
                f'`weights` of {challenge_id} name "{check}", which is not a check. {advice}',
            )
        weight = weights.number(check)
        if not (math.isfinite(weight) and weight >= 0):
            raise weights.error(
                check,
                f'`weights` of {challenge_id} give "{check}" the weight {weight:g}; it must be 0'
                " or a positive number.",
            )
        changed[check] = weight
    if not any({**WEIGHTS, **changed}.values()):
        raise table.error(
            "weights", f"`weights` of {challenge_id} are all 0. Give a check a weight above 0."
        )
    return changed


def _seconds(settings: TomlTable, default: float) -> float:
    seconds = settings.number("seconds", default)
    if not 0 < seconds <= MOST_SECONDS:
        raise settings.error(
            "seconds",
            f"`seconds` is {seconds:g}; it must be more than 0 and at most {MOST_SECONDS:g}.",
        )
    return seconds


def _memory_mib(settings: TomlTable, default: int) -> int:
    memory_mib = settings.whole_number("memory_mib", default)
    if not LEAST_MIB <= memory_mib <= MOST_MIB:
        raise settings.error(
            "memory_mib",
            f"`memory_mib` is {as_toml(memory_mib)}; it must be {LEAST_MIB} to {MOST_MIB}.",
        )
    return memory_mib


def _students_see(settings: TomlTable, default: Shown) -> Shown:
    text = settings.text("students_see", default)
    choices: tuple[Shown, ...] = get_args(Shown)
    for choice in choices:
        if text == choice:
            return choice
    raise settings.error(
        "students_see",
        f"`students_see` is {as_toml(text)}. {suggested(text, choices, 'choices')}",
    )


def _penalty(settings: TomlTable) -> float:
    penalty = settings.number("penalty")
    if not 0 <= penalty <= 100:
        raise settings.error(
            "penalty",
            f"`penalty` is {penalty:g}; it must be 0 to 100, the points that each day late costs.",
        )
    return penalty


def _grace(settings: TomlTable) -> float:
    """Return the grace period in seconds. A number without a unit means minutes."""
    value = settings.values.get("grace", 0)
    expected = 'a number of minutes, or text like "15 min", "2 h" or "1 day"'
    if isinstance(value, str):
        seconds = _length(value)
        if seconds is None:
            raise settings.wrong("grace", expected)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        seconds = 60 * settings.number("grace")
    else:
        raise settings.wrong("grace", expected)
    if not 0 <= seconds <= MOST_DAYS * DAY:
        raise settings.error(
            "grace",
            f"`grace` is {shown(value)}; it must be 0 minutes to {MOST_DAYS:g} days.",
        )
    return seconds


def _utc_offset(due: Any) -> float | None:
    """Return the seconds from UTC to the time zone of a time; None without an offset."""
    offset = due.utcoffset() if isinstance(due, datetime) else None
    return None if offset is None else offset.total_seconds()


def _extensions(settings: TomlTable, due: float | None) -> dict[str, Extension]:
    table = settings.table("extensions", _EXTENSIONS_EXAMPLE)
    extensions = {student: _extension(table, student) for student in table.values}
    for student, extension in extensions.items():
        if due is not None and extension.due is not None and extension.due < due:
            raise table.error(
                student,
                f"`{shown_key(student)}` is {table.values[student]}, which is before the due time"
                f" {settings.values['due']}. Give a later time, or remove the line.",
            )
    return extensions


def _extension(table: TomlTable, student: str) -> Extension:
    value = table.values[student]
    if student in _SETTINGS:
        raise table.error(
            student,
            f"`{student}` is a setting of the assignment: move it above [extensions] and the first"
            f" [[challenge]]. If it is a student, use the e-mail address or the name.",
        )
    if not student.strip():
        raise table.error(student, "An extension needs a student before the equals sign.")
    if isinstance(value, dict):
        name = ".".join((student, *_dotted(value)))
        raise table.error(student, f"A student with a dot needs quotes. Write {as_toml(name)} = …")
    if isinstance(value, date):
        return Extension(due=_moment(table, student))
    if isinstance(value, str):
        seconds = _length(value)
        days = None if seconds is None else seconds / DAY
    else:
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        days = table.number(student) if is_number else None
    if days is None:
        raise table.wrong(
            student,
            f'a day or a time ({_DAY_OR_TIME}), a number of days, or text like "2 days"',
            _day_in(value),
        )
    if not 0 < days <= MOST_DAYS:
        raise table.error(
            student,
            f"`{shown_key(student)}` is {shown(value)}; an extension must be more than 0 and at"
            f" most {MOST_DAYS:g} days.",
        )
    return Extension(days=days)


def _dotted(value: Any) -> list[str]:
    """Return the keys of tables that are nested in each other: {a: {b: 2}} gives a, b."""
    keys: list[str] = []
    while isinstance(value, dict) and value:
        key, value = next(iter(value.items()))
        keys.append(key)
    return keys


def _length(text: str) -> float | None:
    """Return the seconds of a text like "15 min", or None if it is no length of time."""
    match = _LENGTH.fullmatch(text.strip())
    if match is None or match[2].lower() not in _LENGTHS:
        return None
    return float(match[1]) * _LENGTHS[match[2].lower()]


def _moment(table: TomlTable, key: str) -> float:
    """Return a time in seconds since the epoch.

    A time without an offset is in the time zone of this machine. A day ends at midnight.
    """
    value = table.values[key]
    if not isinstance(value, date):  # datetime is a subclass of date
        raise table.wrong(key, f"a day or a time without quotes: {_DAY_OR_TIME}", _day_in(value))
    try:
        return (
            value if isinstance(value, datetime) else datetime.combine(value, time.max)
        ).timestamp()
    except (ValueError, OverflowError, OSError):
        raise table.error(
            key,
            f"`{shown_key(key)}` is {value}, a time that this machine cannot represent. Name a day"
            " after 1970.",
        ) from None


def _day_in(value: Any) -> str:
    """Return the day or time that a text holds, as TOML, or ""."""
    if not isinstance(value, str):
        return ""
    text = value.strip()
    with suppress(ValueError):
        return date.fromisoformat(text).isoformat()
    with suppress(ValueError):
        return datetime.fromisoformat(text).isoformat(sep=" ")
    return ""
