"""Compute the grades of a class from its results, times, penalties and the decisions of persons.

A result on disk holds the share of each check that is right. Points and lateness follow from the
shares and from the assignment. So a changed weight or due time needs no new grading.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Annotated, NamedTuple

import msgspec
from msgspec import Meta

from attn_drill.classroom.assignment import DAY
from attn_drill.classroom.records import (
    AssignedChallenge,
    Assignment,
    ChallengeGrade,
    Gradebook,
    Lateness,
    Override,
    Student,
    StudentGrade,
    StudentResult,
    StudentSubmission,
)
from attn_drill.classroom.result_store import (
    ClassRecord,
    Mark,
    ResultStore,
    text_digest,
    write_atomically,
)
from attn_drill.classroom.roster import StudentIndex
from attn_drill.model.checks import WEIGHTS, Status
from attn_drill.model.errors import DrillError
from attn_drill.model.report import Report
from attn_drill.packs.toml import as_toml, key_error, read_toml, suggestion

# Each of these checks compares values itself. An answer with wrong values that is fast, has the
# right shape or refuses bad sizes is still wrong, so every other check counts as far as the values
# are right.
_ABOUT_VALUES = ("values", "masks", "gradients", "train/eval", "properties")

TOTAL = ""  # in place of a challenge

OVERRIDES_FILE = "overrides.toml"
_HEAD = """\
# Points that a person decided. You may edit this file; `class grade --resume` reads it.
# The points replace the total of a student, or the points of one challenge if `challenge` is
# given. The last entry for a student and a challenge counts.
# `file` tells for which file the points were decided.
"""


def lateness_of(submission: StudentSubmission, assignment: Assignment) -> Lateness:
    """Compare the time of a submission with the due time of its student.

    If one of them is unknown, only the system's own mark can make a submission late. No penalty is
    taken then, because the number of days is unknown.
    """
    due = assignment.extensions.get(submission.student, assignment.due)
    in_time = Lateness(
        submitted=submission.submitted,
        due=due,
        is_extended=submission.student in assignment.extensions,
        utc_offset=assignment.utc_offset,
    )
    if due is None or submission.submitted is None:
        return replace(in_time, is_late=True, days=None) if submission.is_marked_late else in_time
    if submission.submitted <= due + assignment.grace:
        return in_time
    days = max(1, math.ceil((submission.submitted - due) / DAY))
    return replace(in_time, is_late=True, days=days, penalty=min(100.0, days * assignment.penalty))


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


class ChangedMark(NamedTuple):
    """A mark that changed. The challenge of the total is ""."""

    student: str
    challenge: str
    before: float | None
    after: float | None
    reason: str


def current_results(store: ResultStore, record: ClassRecord) -> list[StudentResult]:
    """Return the valid results of a class, in the order of its students and challenges.

    Write those again whose id, points or lateness have changed.
    """
    jobs = {(job.submission.student, job.submission.challenge): job for job in record.jobs}
    results: list[StudentResult] = []
    for student in record.students:
        for challenge in record.challenges:
            job = jobs.get((student.name, challenge))
            if job is None or (stored := store.read(job)) is None:
                continue
            current = current_result(stored, job.submission, student, record.assignment)
            if current != stored:
                store.write(current)
            results.append(current)
    return results


def current_result(
    result: StudentResult, submission: StudentSubmission, student: Student, assignment: Assignment
) -> StudentResult:
    """Return a result with the id, the points and the lateness that hold now."""
    assigned = next(
        assigned for assigned in assignment.challenges if assigned.challenge == result.challenge
    )
    lateness = lateness_of(submission, assignment)
    return replace(
        result,
        id=student.id,
        score=score(result.report, assigned, assignment) if result.report else None,
        late=lateness.is_late,
    )


def class_gradebook(
    record: ClassRecord, results: Iterable[StudentResult], overrides: Sequence[Override]
) -> Gradebook:
    """Return the gradebook of a class from the results with the points that hold now."""
    submissions = [job.submission for job in record.jobs]
    return Gradebook(
        record.assignment,
        grades_of(record.assignment, record.students, submissions, results, overrides),
        tuple(record.other_files),
        record.has_roster,
        record.possible,
    )


def grades_of(
    assignment: Assignment,
    students: Sequence[Student],
    submissions: Iterable[StudentSubmission],
    results: Iterable[StudentResult],
    overrides: Iterable[Override] = (),
) -> tuple[StudentGrade, ...]:
    """Return the grades of each student. A decision counts also if there is nothing to grade.

    The last decision for a student and a challenge counts.
    """
    submitted = {(each.student, each.challenge): each for each in submissions}
    graded = {(each.student, each.challenge): each for each in results}
    decided = {(each.student, each.challenge): each for each in overrides}
    rows = []
    for student in students:
        grades = {}
        for challenge in assignment.challenge_ids:
            key = (student.name, challenge)
            if key in graded or key in decided:
                submission = submitted.get(key) or StudentSubmission(*key, file="", source=None)
                result, override = graded.get(key), decided.get(key)
                grades[challenge] = _grade(submission, result, override, assignment)
        points = total({name: grade.points for name, grade in grades.items()}, assignment)
        override = decided.get((student.name, TOTAL))
        points = points if override is None else override.points
        rows.append(StudentGrade(student, grades, override, points))
    return tuple(rows)


def _grade(
    submission: StudentSubmission,
    result: StudentResult | None,
    override: Override | None,
    assignment: Assignment,
) -> ChallengeGrade:
    lateness = lateness_of(submission, assignment)
    if override is not None:
        # No penalty is taken from points that a person decided.
        lateness = replace(lateness, penalty=0.0)
        return ChallengeGrade(submission, result, lateness, override, override.points)
    points = None if result is None else result.score
    if points is not None:
        points = round(max(0.0, points - lateness.penalty), 1)
    elif result is not None and result.is_ungraded and assignment.ungraded == "zero":
        points = 0.0
    return ChallengeGrade(submission, result, lateness, override, points)


def marks_of(gradebook: Gradebook, record: ClassRecord) -> dict[str, dict[str, Mark]]:
    """Return the marks of a class by student and challenge, with everything that decides them."""
    texts = {(job.submission.student, job.submission.challenge): job.text for job in record.jobs}
    marks: dict[str, dict[str, Mark]] = {}
    for row in gradebook.rows:
        name = row.student.name
        marks[name] = {TOTAL: Mark(row.total, row.override.points if row.override else None)}
        for challenge, grade in row.challenges.items():
            decided = grade.override.points if grade.override else None
            marks[name][challenge] = Mark(grade.points, decided, texts.get((name, challenge), ""))
    return marks


def changed_marks(before: ClassRecord, now: ClassRecord) -> list[ChangedMark]:
    """Return the marks that differ between two runs, in the order of the students.

    A total is listed only if no challenge of the student explains its change.
    """
    changes: list[ChangedMark] = []
    for student in dict.fromkeys((*now.marks, *before.marks)):
        of_student: list[ChangedMark] = []
        for challenge in (*now.challenges, TOTAL):
            old, new = (
                record.marks.get(student, {}).get(challenge, Mark(None)) for record in (before, now)
            )
            if old.points != new.points and (challenge != TOTAL or not of_student):
                reason = _reason(old, new, before, now)
                reason = reason if student in now.marks else "not in the class any more"
                of_student.append(ChangedMark(student, challenge, old.points, new.points, reason))
        changes += of_student
    return changes


def _reason(old: Mark, new: Mark, before: ClassRecord, now: ClassRecord) -> str:
    if new.override != old.override:
        return "override" if new.override is not None else "override taken back"
    if new.text != old.text:
        return "new file" if new.text else "no file any more"
    if old.points is None:
        return "graded now"
    changed = [
        key.name
        for key in fields(Assignment)
        if getattr(before.assignment, key.name) != getattr(now.assignment, key.name)
    ]
    if before.version != now.version:
        changed.append(f"attn-drill {now.version} in place of {before.version}")
    return f"changed: {', '.join(changed) or 'the times or the challenge'}"


class Entry(msgspec.Struct, forbid_unknown_fields=True, frozen=True, omit_defaults=True):
    """The keys below `[[override]]` in `overrides.toml`."""

    student: Annotated[str, Meta(min_length=1)]
    points: Annotated[float, Meta(ge=0, le=100)]
    challenge: str = ""
    comment: str = ""
    file: str = ""


class OverridesFile(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The tables of `overrides.toml`."""

    override: tuple[Entry, ...] = ()


def read_overrides(out: Path, record: ClassRecord) -> list[Override]:
    """Return the decisions that count, each with the name of its student, or raise DrillError."""
    path = out / OVERRIDES_FILE
    if not path.exists():
        return []
    index_of_students = StudentIndex(record.students, record.salt)
    counting: dict[tuple[str, str], Override] = {}
    for index, entry in enumerate(read_toml(path, OverridesFile).override):
        try:
            student = index_of_students.find(entry.student).name
            if entry.challenge and entry.challenge not in record.challenges:
                raise DrillError(
                    f"`challenge` is {as_toml(entry.challenge)}, which the assignment does not"
                    f" have. {suggestion(entry.challenge, record.challenges)}"
                )
        except DrillError as error:
            sentence = f"{error} Correct the entry, or remove it."
            raise key_error(path, ("override", index), sentence) from None
        # The points of an only challenge and the total are the same.
        challenge = record.challenges[0] if len(record.challenges) == 1 else entry.challenge
        is_outdated = bool(entry.file) and entry.file != decided_file(record, student, challenge)
        counting[student, challenge] = Override(
            student, challenge, entry.points, entry.comment, is_outdated
        )
    return list(counting.values())


def decided_file(record: ClassRecord, student: str, challenge: str) -> str:
    """Return the digest of the texts for which points are decided; "" if there is no text."""
    texts = [
        job.text
        for job in record.jobs
        if job.submission.student == student
        and challenge in (TOTAL, job.submission.challenge)
        and job.text
    ]
    return text_digest("".join(texts)) if texts else ""


def append_entry(path: Path, entry: Entry) -> None:
    """Add an entry to the file, or begin the file."""
    text = path.read_bytes().decode() if path.exists() else _HEAD
    keys = msgspec.to_builtins(entry)
    lines = ["[[override]]", *(f"{key} = {as_toml(value)}" for key, value in keys.items())]
    # Names of files may have characters that Unicode does not allow.
    block = "\n".join(("", *lines, "")).encode("utf-8", "replace")
    write_atomically(path, text.rstrip("\n").encode() + b"\n" + block)
