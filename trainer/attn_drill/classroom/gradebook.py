"""Compute the grades of a class from its results, times, penalties and the decisions of persons.

A result on disk holds the share of each check that is right. Points and lateness follow from the
shares and from the assignment. So a changed weight or due time needs no new grading.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields, replace
from typing import NamedTuple

from attn_drill.classroom.lateness import lateness_of
from attn_drill.classroom.points import score, total
from attn_drill.classroom.records import (
    Assignment,
    ChallengeGrade,
    Gradebook,
    Override,
    Student,
    StudentGrade,
    StudentResult,
    StudentSubmission,
)
from attn_drill.classroom.result_store import ClassRecord, Mark, ResultStore

TOTAL = ""  # in place of a challenge


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
    return {
        row.student.name: {
            TOTAL: Mark(row.total, row.override.points if row.override else None),
            **{
                challenge: Mark(
                    grade.points,
                    grade.override.points if grade.override else None,
                    texts.get((row.student.name, challenge), ""),
                )
                for challenge, grade in row.challenges.items()
            },
        }
        for row in gradebook.rows
    }


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
