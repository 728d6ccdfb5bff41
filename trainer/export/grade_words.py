"""Say in words how the points of a student came about: checks, weights, lateness, overrides."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone

from trainer.classroom.points import WEIGHTS, CheckPoints, check_points, weight_shares
from trainer.classroom.records import AssignedChallenge, Lateness, Override, StudentResult
from trainer.model.checks import CHECK_ORDER, Status, Verdict
from trainer.model.quantities import plural
from trainer.report.class_words import points as in_points

STATUS_WORDS: Mapping[Status, str] = {
    "passed": "passed",
    "failed": "failed",
    "skipped": "incomplete",
}


@dataclass(frozen=True)
class PointsRow:
    """A row of a student's table of points.

    Attributes:
        check: the name of the check.
        status: the status over all cases.
        words: the status in words. If the check passed and brings no points, they say why.
        points: the points that the student gets, 0 to 100.
        most: the points that the check can bring.
    """

    check: str
    status: Status
    words: str
    points: float
    most: float


@dataclass(frozen=True)
class WeightRow:
    """A row of the table of weights.

    Attributes:
        checks: the name of the check.
        weight: the weight.
        points: the points of 100 that the check brings.
    """

    checks: str
    weight: float
    points: float


def points_rows(result: StudentResult, assigned: AssignedChallenge) -> tuple[PointsRow, ...]:
    """Return the table of points: all checks that can bring points, in their order.

    Args:
        result: the result of the student.
        assigned: the challenge with the weights that the assignment changes.
    """
    parts = () if result.report is None else check_points(result.report, assigned)
    return tuple(
        PointsRow(
            part.check,
            part.status,
            status_words(part, result.verdict),
            part.points,
            100 * part.share,
        )
        for part in parts
        if part.share
    )


def points_lines(result: StudentResult, assigned: AssignedChallenge) -> tuple[str, ...]:
    """Return the table of points as lines of text; () if no check brings points."""
    rows = points_rows(result, assigned)
    if not rows or result.score is None:
        return ()
    cells = [(row.check, f"{row.points:.1f} of {row.most:.1f}", row.words) for row in rows]
    cells.append(("all checks", f"{result.score:.1f} of 100.0", ""))
    widths = [max(len(row[column]) for row in cells) for column in range(2)]
    return tuple(
        f"{check:<{widths[0]}}  {gained:>{widths[1]}}  {words}".rstrip()
        for check, gained, words in cells
    )


def status_words(part: CheckPoints, verdict: Verdict | None) -> str:
    """Return the status of a check in words, with the share of it that counts as right."""
    words = STATUS_WORDS[part.status]
    if part.right == 1 or not part.share:
        return words
    if verdict == "not-allowed":
        return f"{words}, but not from scratch"
    percent = f"{math.floor(100 * part.right)}%"
    if part.status == "passed":  # the share of the values decides
        return f"{words}, but only {percent} of values are right"
    return f"{words}, {percent} right"


def weight_rows(assigned: AssignedChallenge, due: Iterable[str]) -> tuple[WeightRow, ...]:
    """Return the weights of a challenge's checks, in their order.

    Args:
        assigned: the challenge with the weights that the assignment changes.
        due: the names of the challenge's checks.
    """
    wanted = set(due)
    parts = weight_shares((check for check in CHECK_ORDER if check in wanted), assigned)
    return tuple(
        WeightRow(check, assigned.weights.get(check, WEIGHTS[check]), 100 * share)
        for check, share in parts.items()
        if share
    )


def weights_in_words(rows: Iterable[WeightRow]) -> str:
    """Return the weights of a challenge in one sentence, or "" without weights."""
    parts = ", ".join(f"{row.checks} {row.weight:g}" for row in rows)
    return parts and (
        "100 points are divided by the weights of the checks"
        f" ({parts}); a check brings its points only if all its cases are right."
    )


def lateness_rows(lateness: Lateness) -> tuple[tuple[str, str], ...]:
    """Return labels and words for the due time, the time of the submission and the penalty."""
    rows: list[tuple[str, str]] = []
    if lateness.due is not None:
        extended = ", with an extension" if lateness.is_extended else ""
        rows.append(("due", f"{time_in_words(lateness.due, lateness.utc_offset)}{extended}"))
    if lateness.submitted is not None:
        in_time = (
            "" if lateness.is_late or not _is_after_due(lateness) else ", within the grace period"
        )
        submitted = time_in_words(lateness.submitted, lateness.utc_offset)
        rows.append(("handed in", f"{submitted}{in_time}"))
    if lateness.is_late:
        rows.append(("late", late_words(lateness)))
    return tuple(rows)


def _is_after_due(lateness: Lateness) -> bool:
    if lateness.due is None or lateness.submitted is None:
        return False
    return lateness.submitted > lateness.due


def late_words(lateness: Lateness) -> str:
    """Return the days and the penalty of a late submission, for example `2 days, −20 points`."""
    if lateness.days is None:
        return "time unknown, no penalty"
    penalty = f"−{in_points(lateness.penalty)} points" if lateness.penalty else "no penalty"
    return f"{plural(lateness.days, 'day')}, {penalty}"


def time_in_words(seconds: float, utc_offset: float | None = None) -> str:
    """Return a time as `2026-12-01 23:59 (UTC+01:00)`.

    Args:
        seconds: the time in seconds since the epoch.
        utc_offset: seconds from UTC to the time zone; None for the time zone of this machine.
    """
    zone = None if utc_offset is None else timezone(timedelta(seconds=utc_offset))
    try:
        time = datetime.fromtimestamp(seconds, UTC).astimezone(zone)
    except (ValueError, OverflowError, OSError):
        return f"{seconds:g} seconds after 1970"
    offset = time.strftime("%z")
    return f"{time:%Y-%m-%d %H:%M} (UTC{offset[:3]}:{offset[3:5]})"


def override_words(override: Override) -> str:
    """Return a person's decision, for example `85 points. A good idea.`"""
    comment = f" {override.comment}" if override.comment else ""
    return f"{in_points(override.points)} points.{comment}"
