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
    """The points of one check."""

    check: str
    status: Status
    share: float  # of all points, that the check can bring: 0 to 1
    right: float  # the share of the check that counts as right, 0 to 1

    @property
    def points(self) -> float:
        """The points that the student gets, 0 to 100."""
        return 100 * self.share * self.right


def check_points(report: Report, assigned: AssignedChallenge) -> tuple[CheckPoints, ...]:
    """Return the points of each due check, in the order of the checks.

    If the library did the work (verdict "not-allowed"), no check brings points. The report has the
    shares of its checks unless it passed.
    """
    statuses = report.statuses()
    weights = weight_shares(statuses, assigned)
    parts = []
    for check, status in statuses.items():
        right = float(report.verdict == "passed")
        if report.verdict not in ("passed", "not-allowed"):
            right = report.shares.get(check, 0.0)
            if check not in _ABOUT_VALUES:
                right *= report.shares.get("values", 1.0)
        parts.append(CheckPoints(check, status, weights[check], right))
    return tuple(parts)


def score(report: Report, assigned: AssignedChallenge, assignment: Assignment) -> float:
    """Return the points of one report, 0 to 100, rounded to one decimal.

    A pass always gives 100. An answer that one known mistake explains completely gets at least the
    points that the assignment gives for one mistake.
    """
    if report.verdict == "passed":
        return 100.0
    points = math.fsum(part.points for part in check_points(report, assigned))
    if report.diagnosis is not None and report.diagnosis.is_only_mistake:
        points = max(points, assignment.one_mistake)
    return round(points, 1)


def total(points: Mapping[str, float | None], assignment: Assignment) -> float | None:
    """Return the points of a student over all challenges, 0 to 100, rounded to one decimal.

    Each challenge counts by its worth. Return None if the points of a challenge are not known: the
    rest is not enough for a mark.
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
    """Return the share of all points of each due check. The shares sum to 1 or are all 0."""
    weights = {check: assigned.weights.get(check, WEIGHTS[check]) for check in checks}
    largest = max(weights.values(), default=0.0)
    if not largest:
        return weights
    parts = {check: weight / largest for check, weight in weights.items()}
    whole = math.fsum(parts.values())
    return {check: part / whole for check, part in parts.items()}
