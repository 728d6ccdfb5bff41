"""Read an assignment from `assignment.toml`, and compute the score of a result."""

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
from trainer.packs.toml_file import read_toml

MOST_SECONDS = 86_400.0
LEAST_MIB, MOST_MIB = 16, 1 << 20


class ChallengeEntry(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The keys of a `[[challenge]]`."""

    id: str
    worth: float = 1.0
    weights: dict[str, float] = {}


class AssignmentFile(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The keys of `assignment.toml`.

    `due` accepts any of TOML's types for a day or a time. `_due` distinguishes the types later.
    """

    challenge: list[ChallengeEntry] = []
    title: str = ""
    due: Any = None
    seconds: float = Assignment.seconds
    memory_mib: int = Assignment.memory_mib
    students_see: str = Assignment.shown
    why: bool = Assignment.why


def plain_assignment(challenge_id: str) -> Assignment:
    """Return an assignment with one challenge and default values for everything else."""
    return Assignment(challenge_id, (AssignedChallenge(challenge_id),))


def read_assignment(path: Path, known: Callable[[str], Challenge]) -> Assignment:
    """Read `assignment.toml`.

    Args:
        path: the file.
        known: return the challenge with an id, or raise DrillError with the nearest id.

    Raises:
        DrillError: one sentence that names the file and the key.
    """
    try:
        if not path.is_file():
            raise DrillError(
                f"There is no file {path}. Name the assignment's TOML file, or one challenge with"
                " --challenge."
            )
        data: AssignmentFile = read_toml(path, AssignmentFile)
    except OSError as error:
        raise DrillError(
            f"{path} cannot be read: {error.strerror or error}. Check its permissions."
        ) from None
    except (RecursionError, ValueError) as error:
        # Values nested too deeply, or a number of a thousand digits.
        raise DrillError(f"{path} is not valid TOML: {error}.") from None
    try:
        challenges = tuple(_assigned(entry, known) for entry in data.challenge)
        ids = [assigned.challenge for assigned in challenges]
        if not challenges:
            raise DrillError('There is no challenge. Add [[challenge]] and, below it, id = "…".')
        if repeated := [name for index, name in enumerate(ids) if name in ids[:index]]:
            raise DrillError(f"`challenge` names {repeated[0]} twice. Remove one of the two.")
        if not 0 < data.seconds <= MOST_SECONDS:
            raise DrillError(
                f"`seconds` is {data.seconds:g}; it must be more than 0 and at most"
                f" {MOST_SECONDS:g}."
            )
        if not LEAST_MIB <= data.memory_mib <= MOST_MIB:
            raise DrillError(
                f"`memory_mib` is {data.memory_mib}; it must be {LEAST_MIB} to {MOST_MIB}."
            )
        shown = {choice: choice for choice in get_args(Shown)}.get(data.students_see)
        if shown is None:
            raise DrillError(
                f"`students_see` is {data.students_see!r}; it must be one of"
                f" {', '.join(get_args(Shown))}."
            )
        return Assignment(
            data.title.strip() or ", ".join(ids),
            challenges,
            data.seconds,
            data.memory_mib,
            _due(data.due),
            shown,
            data.why,
        )
    except DrillError as error:
        raise DrillError(f"{path}: {error}") from None


def _assigned(data: ChallengeEntry, known: Callable[[str], Challenge]) -> AssignedChallenge:
    challenge = known(data.id)
    for check, weight in data.weights.items():
        if check not in CHECK_ORDER:
            near = difflib.get_close_matches(check.lower(), CHECK_ORDER, n=1, cutoff=0.5)
            hint = (
                f'Did you mean "{near[0]}"?'
                if near
                else f"The checks are {', '.join(CHECK_ORDER)}."
            )
            raise DrillError(
                f"`weights` of {challenge.id} name {check!r}, which is not a check. {hint}"
            )
        if not (math.isfinite(weight) and weight >= 0):
            raise DrillError(
                f"`weights` of {challenge.id} give {check!r} the weight {weight:g}; it must be 0 or"
                " a positive number."
            )
    weights = {check: data.weights.get(check, WEIGHTS[check]) for check in CHECK_ORDER}
    if not any(weights.values()):
        raise DrillError(f"`weights` of {challenge.id} are all 0. Give a check a weight above 0.")
    if not (math.isfinite(data.worth) and data.worth > 0):
        raise DrillError(
            f"`worth` of {challenge.id} is {data.worth:g}; it must be a number above 0."
        )
    return AssignedChallenge(challenge.id, weights, data.worth)


def _due(value: Any) -> float | None:
    """Return the due time in seconds since the epoch, or None.

    A time without an offset is in the time zone of this machine. A day ends at midnight.
    """
    if value is None:
        return None
    if not isinstance(value, date):  # datetime is a subclass of date
        raise DrillError(
            f"`due` is {value!r}; it must be a day or a time in TOML's form, without quotes:"
            " 2026-12-01 or 2026-12-01T23:59:00+01:00."
        )
    try:
        return (
            value if isinstance(value, datetime) else datetime.combine(value, time.max)
        ).timestamp()
    except (ValueError, OverflowError, OSError):
        raise DrillError(
            f"`due` is {value}, a time that this machine cannot represent. Name a day after 1970."
        ) from None


def score(statuses: Mapping[str, Status], assigned: AssignedChallenge, verdict: Verdict) -> float:
    """Return the points of one result, 0 to 100, rounded to one decimal.

    The points are the weights of the passed checks as a share of the weights of all due checks.

    Args:
        statuses: the status of each due check over all cases. A skipped check did not pass.
        assigned: the challenge with the weights of its checks. If no due check has a weight, a pass
            gives 100 points and every other verdict gives 0.
        verdict: "passed" always gives 100. "not-allowed" always gives 0, because the library did
            the work.
    """
    if verdict in ("passed", "not-allowed"):
        return 100.0 if verdict == "passed" else 0.0
    weights = {check: assigned.weights.get(check, 0.0) for check in statuses}
    largest = max(weights.values(), default=0.0)
    if not largest:
        return 0.0
    # Divide by the largest weight so that no sum is infinite.
    parts = {check: weight / largest for check, weight in weights.items()}
    passed = math.fsum(part for check, part in parts.items() if statuses[check] == "passed")
    return round(100 * passed / math.fsum(parts.values()), 1)


def total(scores: Mapping[str, float | None], assignment: Assignment) -> float | None:
    """Return the points of a student over all challenges, 0 to 100, rounded to one decimal.

    Each challenge counts by its worth. Return None if the score of a challenge is missing or
    None: the grader failed on that challenge, and the rest is not enough for a mark.
    """
    largest = max(assigned.worth for assigned in assignment.challenges)
    points: list[float] = []
    for assigned in assignment.challenges:
        challenge_score = scores.get(assigned.challenge)
        if challenge_score is None:
            return None
        points.append(challenge_score * (assigned.worth / largest))
    whole = math.fsum(assigned.worth / largest for assigned in assignment.challenges)
    return round(math.fsum(points) / whole, 1)
