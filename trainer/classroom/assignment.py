"""An assignment: what `assignment.toml` says a class was asked, and what a result is worth."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Mapping
from datetime import date, datetime, time
from pathlib import Path
from typing import Any, get_args

import msgspec

from trainer.classroom.records import WEIGHTS, AssignedChallenge, Assignment, Shown
from trainer.model.challenge import Challenge
from trainer.model.checks import CHECK_ORDER, Status, Verdict
from trainer.model.errors import DrillError
from trainer.packs.pack_reader import read_toml

MOST_SECONDS = 86_400.0
LEAST_MIB, MOST_MIB = 16, 1 << 20


class AskedFile(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The keys of a `[[challenge]]`."""

    id: str
    worth: float = 1.0
    weights: dict[str, float] = {}


class AssignmentFile(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The keys of `assignment.toml`. `due` has any of TOML's types for a day, which are told apart later."""

    challenge: list[AskedFile] = []
    title: str = ""
    due: Any = None
    seconds: float = Assignment.seconds
    memory_mib: int = Assignment.memory_mib
    students_see: str = Assignment.shown
    why: bool = Assignment.why


def plain_assignment(challenge_id: str) -> Assignment:
    """One challenge, and everything else as it is where nobody says otherwise."""
    return Assignment(challenge_id, (AssignedChallenge(challenge_id),))


def read_assignment(path: Path, known: Callable[[str], Challenge]) -> Assignment:
    """Read `assignment.toml`.

    Args:
        path: the file.
        known: finds a challenge by id, or raises DrillError with the nearest.

    Raises:
        DrillError: one sentence that names the file and the key.
    """
    try:
        if not path.is_file():
            raise DrillError(
                f"There is no file {path}. Name the assignment's TOML file, or one challenge with --challenge."
            )
        data: AssignmentFile = read_toml(path, AssignmentFile)
    except OSError as error:
        raise DrillError(
            f"{path} cannot be read: {error.strerror or error}. Check its permissions."
        ) from None
    except (
        RecursionError,
        ValueError,
    ) as error:  # nested without end, or a number of a thousand digits
        raise DrillError(f"{path} is not valid TOML: {error}.") from None
    try:
        asked = tuple(_asked(one, known) for one in data.challenge)
        ids = [one.challenge for one in asked]
        if not asked:
            raise DrillError('`challenge` names nothing. Add [[challenge]] and below it id = "…".')
        if twice := [one for index, one in enumerate(ids) if one in ids[:index]]:
            raise DrillError(f"`challenge` names {twice[0]} twice. Take one of the two out.")
        if not 0 < data.seconds <= MOST_SECONDS:
            raise DrillError(
                f"`seconds` is {data.seconds:g}; it must be more than 0 and at most {MOST_SECONDS:g}."
            )
        if not LEAST_MIB <= data.memory_mib <= MOST_MIB:
            raise DrillError(
                f"`memory_mib` is {data.memory_mib}; it must be {LEAST_MIB} to {MOST_MIB}."
            )
        shown = {one: one for one in get_args(Shown)}.get(data.students_see)
        if shown is None:
            raise DrillError(
                f"`students_see` is {data.students_see!r}; it must be one of {', '.join(get_args(Shown))}."
            )
        return Assignment(
            data.title.strip() or ", ".join(ids),
            asked,
            data.seconds,
            data.memory_mib,
            _due(data.due),
            shown,
            data.why,
        )
    except DrillError as error:
        raise DrillError(f"{path}: {error}") from None


def _asked(data: AskedFile, known: Callable[[str], Challenge]) -> AssignedChallenge:
    challenge = known(data.id)
    for check, weight in data.weights.items():
        if check not in CHECK_ORDER:
            near = difflib.get_close_matches(check.lower(), CHECK_ORDER, n=1, cutoff=0.5)
            hint = f'Did you mean "{near[0]}"?' if near else f"There are: {', '.join(CHECK_ORDER)}."
            raise DrillError(
                f"`weights` of {challenge.id} name {check!r}, which is no check. {hint}"
            )
        if not (math.isfinite(weight) and weight >= 0):
            raise DrillError(
                f"`weights` of {challenge.id} give {check!r} {weight:g}; it must be 0 or a positive number."
            )
    weights = {check: data.weights.get(check, WEIGHTS[check]) for check in CHECK_ORDER}
    if not any(weights.values()):
        raise DrillError(f"`weights` of {challenge.id} are all 0. Give at least one check more.")
    if not (math.isfinite(data.worth) and data.worth > 0):
        raise DrillError(
            f"`worth` of {challenge.id} is {data.worth:g}; it must be a number above 0."
        )
    return AssignedChallenge(challenge.id, weights, data.worth)


def _due(value: Any) -> float | None:
    """Seconds since the epoch. A time without offset is this machine's, and a day lasts until its end."""
    if value is None:
        return None
    if not isinstance(value, date):  # a datetime is one
        raise DrillError(
            f"`due` is {value!r}; it must be a day or a time as TOML has it, without quotes: 2026-12-01 or 2026-12-01T23:59:00+01:00."
        )
    try:
        return (
            value if isinstance(value, datetime) else datetime.combine(value, time.max)
        ).timestamp()
    except (ValueError, OverflowError, OSError):
        raise DrillError(
            f"`due` is {value}, which no clock here can show. Name a day from 1970 on."
        ) from None


def score(statuses: Mapping[str, Status], asked: AssignedChallenge, verdict: Verdict) -> float:
    """Points of one result, 0 to 100, to one decimal: the share that the passed checks have of the weights of those that were due.

    Args:
        statuses: each check that was due, over all cases; a skipped one has not passed.
        asked: whose weights count; where no check that was due has any, a pass is everything and all else nothing.
        verdict: a pass is always 100, and library attention 0, because it did the work.
    """
    if verdict in ("passed", "not-allowed"):
        return 100.0 if verdict == "passed" else 0.0
    weights = {check: asked.weights.get(check, 0.0) for check in statuses}
    largest = max(weights.values(), default=0.0)
    if not largest:
        return 0.0
    parts = {
        check: weight / largest for check, weight in weights.items()
    }  # so that no sum is infinite
    passed = math.fsum(part for check, part in parts.items() if statuses[check] == "passed")
    return round(100 * passed / math.fsum(parts.values()), 1)


def total(scores: Mapping[str, float | None], assignment: Assignment) -> float | None:
    """Points of a student over all challenges, 0 to 100, to one decimal, each by what it is worth.

    None where a score is: the grader failed there, and nobody can be marked on the rest.
    """
    largest = max(one.worth for one in assignment.asked)
    points: list[float] = []
    for one in assignment.asked:
        points_of_one = scores.get(one.challenge)
        if points_of_one is None:
            return None
        points.append(points_of_one * (one.worth / largest))
    return round(math.fsum(points) / math.fsum(one.worth / largest for one in assignment.asked), 1)
