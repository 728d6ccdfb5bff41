"""Read the results of a class, with the points and the lateness that hold now.

A result on disk holds the statuses of the checks. Points and lateness follow from the statuses and
from the assignment. So a changed weight or due time needs no new grading.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from trainer.classroom.gradebook import TOTAL, grades_of
from trainer.classroom.lateness import lateness_of
from trainer.classroom.overrides import OVERRIDES_FILE, read_overrides
from trainer.classroom.points import score
from trainer.classroom.records import (
    Assignment,
    Gradebook,
    Override,
    Student,
    StudentResult,
    StudentSubmission,
)
from trainer.classroom.result_store import ClassRecord, ResultStore, text_digest
from trainer.classroom.students import StudentIndex


def current_results(store: ResultStore, record: ClassRecord) -> list[StudentResult]:
    """Return the valid results of a class, in the order of its students and challenges.

    Write those again whose id, points or lateness have changed.
    """
    jobs = {(job.submission.student, job.submission.challenge): job for job in record.jobs}
    results: list[StudentResult] = []
    for student in record.students:
        for challenge in record.challenges:
            job = jobs.get((student.name, challenge))
            stored = store.read(student.name, challenge) if job else None
            if job is None or stored is None or stored.task != job.digest:
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
    lateness = lateness_of(submission, student, assignment)
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


def decisions(store: ResultStore, record: ClassRecord) -> list[Override]:
    """Return the decisions in `overrides.toml` that count.

    Raises:
        DrillError: the file has a fault, or names a student or a challenge that does not exist.
    """
    return [
        replace(
            override,
            is_outdated=bool(override.file)
            and override.file != decided_file(record, override.student, override.challenge),
        )
        for override in read_overrides(
            store.out / OVERRIDES_FILE,
            record.challenges,
            StudentIndex(record.students, record.salt).find,
        )
    ]


def decided_file(record: ClassRecord, student: str, challenge: str) -> str:
    """Return the digest of the texts for which points are decided; "" if there is no text.

    The challenge `TOTAL` means the texts of all challenges.
    """
    texts = [
        job.text
        for job in record.jobs
        if job.submission.student == student
        and challenge in (TOTAL, job.submission.challenge)
        and job.text
    ]
    return text_digest("".join(texts)) if texts else ""
