"""Compute the points of a result from the share of each check that is right."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from attn_drill.classroom.records import AssignedChallenge, Assignment
from attn_drill.model.checks import CHECK_ORDER, Status
from attn_drill.model.report import Report

# Right values are the point of a challenge. Checks that only show that a file can be graded bring
# no points, and the absence of forbidden code brings none either. So a student who hands in the
# stub unchanged gets 0 points.
WEIGHTS: Mapping[str, float] = dict.fromkeys(CHECK_ORDER, 0.0) | {
    "shapes": 0.2,
    "dtype": 0.2,
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
# Each of these checks compares values itself. An answer with wrong values that is fast, has the
# right shape or refuses bad sizes is still wrong, so every other check counts as far as the values
# are right.
_ABOUT_VALUES = ("values", "masks", "gradients", "train/eval", "properties")


@dataclass(frozen=True)
class CheckPoints:
    """The points of one check.

    Attributes:
        check: the name of the check.
        status: the status over all cases.
        share: the share of all points that the check can bring, 0 to 1.
        right: the share of the check that counts as right, 0 to 1.
    """

    check: str
    status: Status
    share: float
    right: float

    @property
    def points(self) -> float:
        """The points that the student gets, 0 to 100."""
        return 100 * self.share * self.right


def check_points(report: Report, assigned: AssignedChallenge) -> tuple[CheckPoints, ...]:
    """Return the points of each due check, in the order of the checks.

    If the library did the work (verdict "not-allowed"), no check brings points.

    Args:
        report: the report on the submission, with the shares of its checks unless it passed.
        assigned: the challenge with the weights that its assignment changes.
    """
    statuses = report.statuses()
    weights = weight_shares(statuses, assigned)
    right = {check: _right(check, report) for check in statuses}
    return tuple(
        CheckPoints(check, status, weights[check], right[check])
        for check, status in statuses.items()
    )


def _right(check: str, report: Report) -> float:
    if report.verdict in ("passed", "not-allowed"):
        return float(report.verdict == "passed")
    right = report.shares.get(check, 0.0)
    return right if check in _ABOUT_VALUES else right * report.shares.get("values", 1.0)


def score(report: Report, assigned: AssignedChallenge, assignment: Assignment) -> float:
    """Return the points of one report, 0 to 100, rounded to one decimal.

    A pass always gives 100. An answer that one known mistake explains completely gets at least the
    points that the assignment gives for one mistake.

    Args:
        report: the report on the submission.
        assigned: the challenge with the weights that its assignment changes. If no due check has a
            weight, only a pass gives points.
        assignment: the assignment of the class.
    """
    if report.verdict == "passed":
        return 100.0
    points = math.fsum(part.points for part in check_points(report, assigned))
    if report.diagnosis is not None and report.diagnosis.is_only_mistake:
        points = max(points, assignment.one_mistake)
    return round(points, 1)


def total(points: Mapping[str, float | None], assignment: Assignment) -> float | None:
    """Return the points of a student over all challenges, 0 to 100, rounded to one decimal.

    Each challenge counts by its worth. Return None if the points of a challenge are missing or
    None: the grader failed on that challenge, or a person must settle it, and the rest is not
    enough for a mark.
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


def weight_shares(checks: Iterable[str], assigned: AssignedChallenge) -> dict[str, float]:
    """Return the share of all points of each check. The shares sum to 1 or are all 0.

    Args:
        checks: the checks that are due.
        assigned: the challenge with the weights that its assignment changes.
    """
    weights = {check: assigned.weights.get(check, WEIGHTS[check]) for check in checks}
    largest = max(weights.values(), default=0.0)
    if not largest:
        return weights
    # Divide by the largest weight so that no sum is infinite.
    parts = {check: weight / largest for check, weight in weights.items()}
    whole = math.fsum(parts.values())
    return {check: part / whole for check, part in parts.items()}
