"""Read the results of a class, with the points and the lateness that hold now.

A result on disk holds the statuses of the checks. Points and lateness follow from the statuses and
from the assignment. So a changed weight or due time needs no new grading.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import replace

from trainer.classroom.class_record import ClassRecord, Mark, Task
from trainer.classroom.gradebook import gradebook_of
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
from trainer.classroom.result_store import ResultStore
from trainer.classroom.students import StudentIndex

TOTAL = ""  # in place of a challenge


def current_results(store: ResultStore, record: ClassRecord) -> list[StudentResult]:
    """Return the valid results of a class, in the order of its students and challenges.

    Write those again whose id, points or lateness have changed.
    """
    order = record.challenges
    tasks = {(task.submission.student, task.submission.challenge): task for task in record.tasks}
    results: list[StudentResult] = []
    for student in record.students:
        for challenge in order:
            task = tasks.get((student.name, challenge))
            stored = store.read(student.name, challenge) if task else None
            if task is None or stored is None or stored.task != task.task:
                continue
            current = current_result(stored, task.submission, student, record.assignment)
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
    """Return the gradebook of a class.

    Args:
        record: everything about the grading except its results.
        results: the results with the points that hold now.
        overrides: the decisions of persons.
    """
    return gradebook_of(
        record.assignment,
        record.students,
        [task.submission for task in record.tasks],
        results,
        overrides,
        record.other_files,
        has_roster=record.has_roster,
        possible=record.possible,
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

    Args:
        record: the submissions of the class.
        student: the name of the student.
        challenge: the id of a challenge, or `TOTAL` for the texts of all challenges.
    """
    texts = [
        task.text
        for task in record.tasks
        if task.submission.student == student
        and challenge in (TOTAL, task.submission.challenge)
        and task.text
    ]
    return text_digest("".join(texts)) if texts else ""


def text_digest(text: str | None) -> str:
    """Return a short digest of a text; "" without a text."""
    if text is None:
        return ""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def marks_of(gradebook: Gradebook, record: ClassRecord) -> dict[str, dict[str, Mark]]:
    """Return the marks of a class by student and challenge, with everything that decides them."""
    tasks = {(task.submission.student, task.submission.challenge): task for task in record.tasks}
    marks: dict[str, dict[str, Mark]] = {}
    for row in gradebook.rows:
        name = row.student.name
        own = marks.setdefault(name, {})
        decided = None if row.override is None else row.override.points
        own[TOTAL] = Mark(row.total, override=decided)
        for challenge, grade in row.challenges.items():
            task: Task | None = tasks.get((name, challenge))
            own[challenge] = Mark(
                points=grade.points,
                score=grade.score,
                penalty=grade.lateness.penalty,
                override=None if grade.override is None else grade.override.points,
                task=task.task if task else "",
                text=task.text if task else "",
            )
    return marks
