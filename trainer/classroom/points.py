"""Compute the points of a result from the statuses of its checks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from trainer.classroom.records import AssignedChallenge, Assignment
from trainer.model.checks import CHECK_ORDER, Status, Verdict

# Right values are the point of a challenge. Checks that only show that a file can be graded bring
# no points, and the absence of forbidden code brings none either. So a student who hands in the
# stub unchanged gets 0 points.
WEIGHTS: Mapping[str, float] = dict.fromkeys(CHECK_ORDER, 0.0) | {
    "shapes": 0.5,
    "dtype": 0.5,
    "values": 4.0,
    "masks": 3.0,
    "gradients": 2.0,
    "train/eval": 1.0,
    "properties": 1.0,
    "bad sizes": 1.0,
    "vectorised": 1.0,
    "memory": 1.0,
    "work": 1.0,
}
# A tensor of zeros can have the right shape and dtype. So both checks count together, and bring at
# most a tenth of the points, also in challenges with few checks.
FORM = frozenset(("shapes", "dtype"))
MOST_FORM_SHARE = 0.1
# An answer with wrong values that is fast, or that refuses bad sizes, is still wrong. So is an
# answer that only loads. All other checks need right values already when they run.
_NEEDS_VALUES = frozenset(
    (
        "bad sizes",
        "vectorised",
        "memory",
        "work",
        *(c for c, weight in WEIGHTS.items() if not weight),
    )
)


@dataclass(frozen=True)
class CheckPoints:
    """The points of one check.

    Attributes:
        check: the name of the check.
        status: the status over all cases.
        share: the share of all points that the check can bring, 0 to 1.
        is_earned: True if the check brings its share.
    """

    check: str
    status: Status
    share: float
    is_earned: bool

    @property
    def points(self) -> float:
        """The points that the student gets, 0 to 100."""
        return 100 * self.share if self.is_earned else 0.0


def check_points(
    statuses: Mapping[str, Status], assigned: AssignedChallenge, verdict: Verdict | None
) -> tuple[CheckPoints, ...]:
    """Return the points of each due check, in the order of the checks.

    The shares sum to 1. They are all 0 if no due check has a weight.

    Args:
        statuses: the status of each due check over all cases. A skipped check did not pass.
        assigned: the challenge with the weights that its assignment changes.
        verdict: with "not-allowed" no check brings points, because the library did the work.
    """
    shares = _shares(statuses, assigned.weights)
    return tuple(
        CheckPoints(
            check, status, shares[check], verdict != "not-allowed" and _is_earned(check, statuses)
        )
        for check, status in statuses.items()
    )


def score(
    statuses: Mapping[str, Status], assigned: AssignedChallenge, verdict: Verdict | None
) -> float:
    """Return the points of one result, 0 to 100, rounded to one decimal.

    Args:
        statuses: the status of each due check over all cases.
        assigned: the challenge with the weights that its assignment changes. If no due check has a
            weight, a pass gives 100 points and every other verdict gives 0.
        verdict: "passed" always gives 100, and "not-allowed" always gives 0.
    """
    if verdict == "passed":
        return 100.0
    return round(math.fsum(part.points for part in check_points(statuses, assigned, verdict)), 1)


def total(points: Mapping[str, float | None], assignment: Assignment) -> float | None:
    """Return the points of a student over all challenges, 0 to 100, rounded to one decimal.

    Each challenge counts by its worth. Return None if the points of a challenge are missing or
    None: the grader failed on that challenge, and the rest is not enough for a mark.
    """
    largest = max(assigned.worth for assigned in assignment.challenges)
    weighted: list[float] = []
    for assigned in assignment.challenges:
        challenge_points = points.get(assigned.challenge)
        if challenge_points is None:
            return None
        weighted.append(challenge_points * (assigned.worth / largest))
    whole = math.fsum(assigned.worth / largest for assigned in assignment.challenges)
    return round(math.fsum(weighted) / whole, 1)


def _shares(checks: Iterable[str], changed: Mapping[str, float]) -> dict[str, float]:
    """Return the share of all points of each check. The shares sum to 1 or are all 0."""
    weights = {check: changed.get(check, WEIGHTS[check]) for check in checks}
    largest = max(weights.values(), default=0.0)
    if not largest:
        return weights
    # Divide by the largest weight so that no sum is infinite.
    parts = {check: weight / largest for check, weight in weights.items()}
    if not FORM & changed.keys():
        parts = _with_limited_form(parts)
    whole = math.fsum(parts.values())
    return {check: part / whole for check, part in parts.items()}


def _with_limited_form(parts: Mapping[str, float]) -> dict[str, float]:
    """Return the parts, with less for shapes and dtype if they are more than a tenth of all."""
    form = math.fsum(part for check, part in parts.items() if check in FORM)
    others = math.fsum(part for check, part in parts.items() if check not in FORM)
    most = others * MOST_FORM_SHARE / (1 - MOST_FORM_SHARE)
    factor = most / form if others and form > most else 1.0
    return {check: part * factor if check in FORM else part for check, part in parts.items()}


def _is_earned(check: str, statuses: Mapping[str, Status]) -> bool:
    """Return whether a check brings its points."""
    needed = {check}
    if check in FORM:
        needed |= FORM
    elif check in _NEEDS_VALUES:
        needed.add("values")
    return all(statuses.get(name, "passed") == "passed" for name in needed)
