"""Say in words how the points of a student came about, and what a person should look at.

Points come from checks, weights, lateness and overrides. The reasons to look are listed by kind.
"""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from itertools import accumulate, pairwise
from typing import NamedTuple

from attn_drill.classroom.gradebook import CheckPoints, check_points, total, weight_shares
from attn_drill.classroom.records import (
    AssignedChallenge,
    Assignment,
    ChallengeGrade,
    Gradebook,
    Lateness,
    Override,
    StudentGrade,
    StudentResult,
)
from attn_drill.model.checks import CHECK_ORDER, Status, Verdict
from attn_drill.model.words import plural
from attn_drill.report.class_text import VERDICTS
from attn_drill.report.class_text import points as in_points

STATUS_WORDS: Mapping[Status, str] = {
    "passed": "passed",
    "failed": "failed",
    "skipped": "incomplete",
}
_LEAST = "one mistake from right"
_TENTHS = 1000  # of 100 points

_LONGEST = 160  # characters of a message
_ALMOST_THE_NAME = re.compile(r"the file defines no (\w+);.* Rename (\w+)\.")

_AGAIN = "Then grade again with `class grade --resume`."


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
    words: list[str] = []
    for name, each in grade.challenges.items():
        if each.lateness.is_late:
            place = f" in {name}" if several else ""
            words.append(f"late{place}: {late_words(each.lateness)}")
    for override in grade.overrides:
        about = f"{override.challenge}, " if override.challenge and several else ""
        words.append(f"{about}override: {override_words(override)}")
    return words


class Kind(NamedTuple):
    """A kind of reasons to look."""

    heading: str  # of the list of these reasons
    advice: str  # an explanation, and the next step
    label: str = ""  # before the text of a reason outside of this list


# The most urgent first.
KINDS = {
    "clash": Kind(
        "Names that clash", f"A person must decide whose file it is. Rename the file. {_AGAIN}"
    ),
    "ungraded": Kind(
        "Not graded",
        f"A person must settle which file counts, or ask for another file. {_AGAIN}",
        "not graded: ",
    ),
    "failed": Kind(
        "The grader failed",
        "The submission is not to blame. Grade it again with `class grade --resume`.",
        "not graded: ",
    ),
    "near": Kind(
        "Near misses",
        "One small slip costs these answers most of their points. Look at the file, and decide"
        " whether to change the points with `class override`.",
        "near miss: ",
    ),
    "missing": Kind(
        "Nothing for a challenge",
        "These students handed in files, but none for this challenge, so they have 0 points here.",
    ),
    "zero": Kind(
        "0 points",
        "The reason is the first check that failed, or the penalty. If students may use a module"
        f" that is missing here, install it and remove their results. {_AGAIN}",
        "0 points: ",
    ),
    "nobody": Kind(
        "Files that belong to nobody",
        "They were graded, but fit no student of the roster. Put the id, the user name, the e-mail"
        f" address or the name of one student into the file's name. {_AGAIN}",
        "the roster does not have this student: ",
    ),
    "absent": Kind(
        "Handed in nothing",
        "The roster has these students, and no file belongs to them.",
        "handed in nothing",
    ),
    "time": Kind(
        "Time unknown",
        "No penalty is taken. Name a file of times in the assignment, with the key `times`.",
        "the time is unknown, so no penalty is taken",
    ),
    "answers": Kind(
        "Other files with an answer",
        "Another file of the student was graded. If one of these should count, remove the graded"
        f" file. {_AGAIN}",
        "other files with an answer: ",
    ),
    "override": Kind("Overrides", "A person decided these points.", "override: "),
    "files": Kind(
        "Other files",
        "These files and folders are not part of a submission and were not graded.",
    ),
}


@dataclass(frozen=True)
class Reason:
    """A reason to look at a submission, a student or a file."""

    kind: str  # a key of `KINDS`
    student: str  # "" for a file that belongs to nobody
    challenge: str  # "" if the reason is not about a submission
    text: str  # the details, or ""


def notes_of(gradebook: Gradebook) -> list[Reason]:
    """Return all notes in the order of the students."""
    submitted = [
        grade
        for row in gradebook.rows
        for grade in row.challenges.values()
        if grade.submission.file
    ]
    has_no_times = all(grade.lateness.submitted is None for grade in submitted)
    notes: list[Reason] = []
    for row in gradebook.rows:
        name = row.student.name
        notes += [Reason(kind, name, "", text) for kind, text in _about_student(row, gradebook)]
        for challenge, grade in row.challenges.items():
            notes += [
                Reason(kind, name, challenge, text)
                for kind, text in _about_grade(grade)
                if not (kind == "time" and has_no_times and not text)
            ]
    if has_no_times and any(grade.has_unknown_time for grade in submitted):
        notes.append(Reason("time", "", "", "No submission of the class has a time."))
    return notes + [Reason("files", "", "", file) for file in gradebook.other_files]


def by_kind(notes: Sequence[Reason]) -> list[tuple[Kind, list[Reason]]]:
    """Return the notes of each kind that has some, the most urgent kind first."""
    groups = [(row, [note for note in notes if note.kind == kind]) for kind, row in KINDS.items()]
    return [(row, group) for row, group in groups if group]


def _about_student(row: StudentGrade, gradebook: Gradebook) -> Iterator[tuple[str, str]]:
    for sentence in row.student.notes:
        yield "clash", sentence
    if row.student.is_in_roster is False:
        yield "nobody", ", ".join(row.files)
    if gradebook.has_roster and not any(row.files):
        yield "absent", ""
    if row.override is not None:
        points = total(
            {n: grade.points for n, grade in row.challenges.items()}, gradebook.assignment
        )
        yield "override", _decided(row.override, points)


def _about_grade(grade: ChallengeGrade) -> Iterator[tuple[str, str]]:
    """Yield the notes about a submission. A person has already looked at one with an override."""
    if grade.override is not None:
        yield "override", _decided(grade.override, grade.score)
    result, submission = grade.result, grade.submission
    if grade.override is not None or result is None:
        return
    if result.is_ungraded:
        yield "ungraded", result.error or ""
    elif result.verdict is None:
        yield "failed", result.error or "no reason is known"
    elif submission.trouble:
        yield "missing", submission.trouble
    elif words := near_miss(result):
        yield "near", words
    elif grade.points == 0 and grade.score and grade.lateness.is_late:
        yield "zero", f"late: {late_words(grade.lateness)}"
    elif grade.points == 0:
        failure = result.report and result.report.first_failure()
        words = f"{failure.check}: {failure.message}" if failure else VERDICTS[result.verdict][1]
        yield "zero", _shortened(words)
    if grade.has_unknown_time or (grade.lateness.is_late and grade.lateness.days is None):
        yield "time", " (late by its name)" if grade.lateness.is_late else ""
    if submission.alternatives:
        yield "answers", ", ".join(submission.alternatives)


def _decided(override: Override, from_checks: float | None) -> str:
    """Return a decision. If it was made for another file, also the points of the checks."""
    words = override_words(override)
    if not override.is_outdated:
        return words
    words = words if words.endswith((".", "!", "?")) else f"{words}."
    now = "no points" if from_checks is None else f"{from_checks:g} points"
    return f"{words} It was decided for another file; the checks give the present file {now}."


def near_miss(result: StudentResult) -> str:
    """Return the small slip that costs an answer its points, or ""."""
    failure = None if result.report is None else result.report.first_failure()
    if failure is None or result.verdict not in ("error", "failed", "timeout"):
        return ""
    if result.verdict == "timeout":
        return VERDICTS["timeout"][1]
    if match := _ALMOST_THE_NAME.match(failure.message):
        return f"the file defines {match[2]} instead of {match[1]}"
    is_stub = "NotImplementedError" in failure.message
    if result.verdict == "failed" or is_stub or not failure.frames:
        return ""
    line = failure.frames[-1].line
    if "SyntaxError: expected ':'" in failure.message:
        return f"a colon is missing at line {line}"
    is_last = not "".join(result.source.split("\n")[line:]).strip()
    return f"the error is in the last line: {_shortened(failure.message)}" if is_last else ""


def _shortened(message: str) -> str:
    return textwrap.shorten(message, _LONGEST, placeholder=" …")
