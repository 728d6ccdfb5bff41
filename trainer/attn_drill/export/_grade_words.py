"""Say in words how the points of a student came about: checks, weights, lateness, overrides."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from itertools import accumulate, pairwise

from attn_drill.classroom.gradebook import CheckPoints, check_points, weight_shares
from attn_drill.classroom.records import (
    AssignedChallenge,
    Assignment,
    ChallengeGrade,
    Lateness,
    Override,
    StudentGrade,
    StudentResult,
)
from attn_drill.model.checks import CHECK_ORDER, Status, Verdict
from attn_drill.model.words import plural
from attn_drill.report.class_text import points as in_points

STATUS_WORDS: Mapping[Status, str] = {
    "passed": "passed",
    "failed": "failed",
    "skipped": "incomplete",
}
_LEAST = "one mistake from right"
_TENTHS = 1000  # of 100 points


@dataclass(frozen=True)
class PointsRow:
    """A row of a student's table of points. The points of all rows add up exactly."""

    check: str
    status: Status
    words: str  # the status, and why a check that passed brings no points
    points: float  # 0 to 100
    most: float  # the points that the check can bring; 0 for a check without a weight


def points_rows(result: StudentResult, assigned: AssignedChallenge) -> tuple[PointsRow, ...]:
    """Return the table of points: all due checks in their order."""
    parts = () if result.report is None else check_points(result.report, assigned)
    score = round(10 * (result.score or 0.0))
    by_checks = min(score, round(sum(10 * part.points for part in parts)))
    # Some assignments give an answer with a single mistake more than its checks bring.
    rest = score - by_checks if score - by_checks > 1 else 0
    gained = apportioned([part.points for part in parts], score - rest)
    missing = apportioned(
        [100 * part.share - part.points for part in parts], _TENTHS - score + rest
    )
    rows = []
    for part, tenths, more in zip(parts, gained, missing, strict=True):
        words = _status_words(part, result.verdict)
        rows.append(PointsRow(part.check, part.status, words, tenths / 10, (tenths + more) / 10))
    if rest:
        rows.append(PointsRow(_LEAST, "passed", "in addition", rest / 10, rest / 10))
    return tuple(rows)


def apportioned(values: Sequence[float], units: int) -> list[int]:
    """Divide whole units in proportion to values: round the ends of the parts, one after another.

    >>> apportioned([1, 1, 1], 100)
    [33, 34, 33]
    """
    whole = sum(values) or 1.0
    ends = [round(units * end / whole) for end in accumulate(values)]
    return [end - start for start, end in pairwise([0, *ends])]


def _status_words(part: CheckPoints, verdict: Verdict | None) -> str:
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


def points_lines(rows: Sequence[PointsRow]) -> tuple[str, ...]:
    """Return the table of points as lines of text; () without rows."""
    cells = [
        (row.check, f"{row.points:.1f} of {row.most:.1f}", row.words) for row in rows if row.most
    ]
    if not cells:
        return ()
    cells.append(("all checks", f"{sum(row.points for row in rows):.1f} of 100.0", ""))
    widths = [max(len(row[column]) for row in cells) for column in range(2)]
    return tuple(
        f"{check:<{widths[0]}}  {gained:>{widths[1]}}  {words}".rstrip()
        for check, gained, words in cells
    )


def check_weights(assigned: AssignedChallenge, due: Iterable[str]) -> dict[str, float]:
    """Return the points of 100 that each of the due checks can bring, in their order."""
    shares = weight_shares(sorted(due, key=CHECK_ORDER.index), assigned)
    return {check: 100 * share for check, share in shares.items() if share}


def challenge_shares(assignment: Assignment) -> dict[str, float]:
    """Return the share of each challenge in the total, 0 to 1."""
    whole = sum(assigned.worth for assigned in assignment.challenges)
    return {assigned.challenge: assigned.worth / whole for assigned in assignment.challenges}


def rules(assignment: Assignment) -> list[str]:
    """Return how points are counted, and what lateness costs, one sentence or two for each rule."""
    sentences = [
        "Each check brings its points times the share of its cases that are right, beyond what a"
        " trivial answer like zeros reaches. A crash costs the cases in which it happens.",
        "Checks that do not look at values count as far as the values are right. Attention that a"
        " library computes brings no points.",
    ]
    if assignment.one_mistake:
        sentences.append(
            "An answer that is right except for one known mistake gets at least"
            f" {in_points(assignment.one_mistake)} points."
        )
    if assignment.due is not None:
        sentences.append(f"Due: {time_in_words(assignment.due, assignment.utc_offset)}.")
    if assignment.grace:
        minutes = plural(round(assignment.grace / 60), "minute")
        sentences.append(f"A file that comes at most {minutes} later is in time.")
    if assignment.penalty:
        penalty = in_points(assignment.penalty)
        sentences.append(f"Each day late that has begun costs {penalty} of 100 points.")
    return sentences


def penalty_taken(grade: ChallengeGrade) -> float:
    """Return the points that lateness takes from a challenge: never more than its score."""
    is_taken = grade.lateness.penalty and grade.override is None
    if not is_taken or grade.score is None or grade.points is None:
        return 0.0
    return round(grade.score - grade.points, 1)


def details(grade: ChallengeGrade) -> tuple[tuple[str, str], ...]:
    """Return labels and words about the times, an override, and the points that count."""
    lateness = grade.lateness
    rows: list[tuple[str, str]] = []
    if lateness.due is not None:
        extended = ", with an extension" if lateness.is_extended else ""
        rows.append(("due", f"{time_in_words(lateness.due, lateness.utc_offset)}{extended}"))
    if lateness.submitted is not None:
        is_after_due = lateness.due is not None and lateness.submitted > lateness.due
        in_time = ", within the grace period" if is_after_due and not lateness.is_late else ""
        submitted = time_in_words(lateness.submitted, lateness.utc_offset)
        rows.append(("handed in", f"{submitted}{in_time}"))
    if lateness.is_late:
        rows.append(("late", late_words(lateness)))
    if grade.override is not None:
        rows.append(("override", override_words(grade.override)))
    if grade.points is not None and grade.points != grade.score:
        rows.append(("counts", f"{in_points(grade.points)} points"))
    return tuple(rows)


def late_words(lateness: Lateness) -> str:
    """Return the days and the penalty of a late submission.

    >>> late_words(Lateness(is_late=True, days=2, penalty=20.0))
    '2 days, −20 points'
    """
    if lateness.days is None:
        return "time unknown, no penalty"
    penalty = f"−{in_points(lateness.penalty)} points" if lateness.penalty else "no penalty"
    return f"{plural(lateness.days, 'day')}, {penalty}"


def time_in_words(seconds: float, utc_offset: float | None = None) -> str:
    """Return a time in words; None is the zone of this machine.

    >>> time_in_words(0.0, 3600.0)
    '1970-01-01 01:00 (UTC+01:00)'
    """
    zone = None if utc_offset is None else timezone(timedelta(seconds=utc_offset))
    time = datetime.fromtimestamp(seconds, UTC).astimezone(zone)
    offset = time.strftime("%z")
    return f"{time:%Y-%m-%d %H:%M} (UTC{offset[:3]}:{offset[3:5]})"


def override_words(override: Override) -> str:
    """Return a person's decision in words.

    >>> override_words(Override("Ana", "", 85.0, "A good idea."))
    '85 points. A good idea.'
    """
    comment = f" {override.comment}" if override.comment else ""
    return f"{in_points(override.points)} points.{comment}"


def remarks(grade: StudentGrade) -> list[str]:
    """Return short words about the late submissions and the overrides of a student."""
    several = len(grade.challenges) > 1
    late = [
        f"late{f' in {name}' if several else ''}: {late_words(each.lateness)}"
        for name, each in grade.challenges.items()
        if each.lateness.is_late
    ]
    return late + [
        f"{f'{override.challenge}, ' if override.challenge and several else ''}"
        f"override: {override_words(override)}"
        for override in grade.overrides
    ]
