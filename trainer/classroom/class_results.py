"""Read the results of a class, with the points and the lateness that hold now.

A result on disk holds the statuses of the checks. Points and lateness follow from the statuses and
from the assignment. So a changed weight or due time needs no new grading.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from trainer.classroom.gradebook import gradebook_of
from trainer.classroom.lateness import lateness_of
from trainer.classroom.points import score
from trainer.classroom.records import (
    Assignment,
    Gradebook,
    Override,
    Student,
    StudentResult,
    StudentSubmission,
)
from trainer.classroom.result_store import ClassFile, GradedTask, ResultStore
from trainer.classroom.students import StudentIndex


def results_of(store: ResultStore, record: ClassFile) -> Iterator[StudentResult]:
    """Yield the valid results of a class, in the order of its students and challenges."""
    tasks: dict[str, list[GradedTask]] = {}
    for task in record.tasks:
        tasks.setdefault(task.submission.student, []).append(task)
    for student in record.students:
        for task in tasks.get(student.name, ()):
            result = store.read(student.name, task.submission.challenge)
            if result is not None and result.task == task.task:
                yield current_result(result, task.submission, student, record.assignment)


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


def follow_renamed(store: ResultStore, before: ClassFile, now: ClassFile) -> None:
    """Give the results of files whose student has another name now to this name.

    A roster that is given for the first time renames students. Without this, a file would be graded
    again, and its old result would stay next to the new result.

    Args:
        store: the results.
        before: the record of the earlier grading.
        now: the record of this grading.
    """
    keys = {(task.submission.student, task.submission.challenge) for task in now.tasks}
    by_file = {(task.submission.file, task.submission.challenge): task for task in now.tasks}
    for old in before.tasks:
        own = old.submission
        new = by_file.get((own.file, own.challenge))
        if new is None or (own.student, own.challenge) in keys:
            continue
        result = store.read(own.student, own.challenge)
        store.remove(own.student, own.challenge)
        if result is not None and new.task == result.task:
            store.write(replace(result, student=new.submission.student))


def rewrite_changed(store: ResultStore, record: ClassFile) -> None:
    """Write all results again whose id, points or lateness have changed."""
    for result in results_of(store, record):
        if store.read(result.student, result.challenge) != result:
            store.write(result)


def class_gradebook(
    store: ResultStore, record: ClassFile, overrides: Sequence[Override]
) -> Gradebook:
    """Return the gradebook of a class.

    Args:
        store: the results.
        record: everything else about the grading.
        overrides: the decisions of persons, each with the name of its student.
    """
    return gradebook_of(
        record.assignment,
        record.students,
        [task.submission for task in record.tasks],
        results_of(store, record),
        overrides,
        record.other_files,
        has_roster=record.has_roster,
        possible=record.possible,
    )


def with_full_name(override: Override, record: ClassFile) -> Override:
    """Return an override with the name of its student.

    Args:
        override: the override. It may name the student by id, user name, e-mail address, name or
            anonymous id.
        record: the students of the class.

    Raises:
        DrillError: the override names nobody or several students.
    """
    student = StudentIndex(record.students, record.salt).find(override.student)
    return replace(override, student=student.name)
