"""Compute the grades of a class from its results, times, penalties and the decisions of persons."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from trainer.classroom.lateness import lateness_of
from trainer.classroom.points import total
from trainer.classroom.records import (
    Assignment,
    ChallengeGrade,
    Override,
    Student,
    StudentGrade,
    StudentResult,
    StudentSubmission,
)

TOTAL = ""  # the challenge of an override of the total


def grades_of(
    assignment: Assignment,
    students: Sequence[Student],
    submissions: Iterable[StudentSubmission],
    results: Iterable[StudentResult],
    overrides: Iterable[Override] = (),
) -> tuple[StudentGrade, ...]:
    """Return the grades of each student. A decision counts also if there is nothing to grade.

    Args:
        assignment: the assignment of the class.
        students: all students of the class.
        submissions: the submissions of these students. Their text is not needed.
        results: the results of the submissions.
        overrides: the decisions of persons. The last decision for a student and a challenge counts.
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
                result = graded.get(key) or StudentResult(
                    student=student.name, challenge=challenge, file=submission.file
                )
                grades[challenge] = _grade(
                    result, submission, student, assignment, decided.get(key)
                )
        points = total({name: grade.points for name, grade in grades.items()}, assignment)
        override = decided.get((student.name, TOTAL))
        points = points if override is None else override.points
        rows.append(StudentGrade(student, grades, override, points))
    return tuple(rows)


def _grade(
    result: StudentResult,
    submission: StudentSubmission,
    student: Student,
    assignment: Assignment,
    override: Override | None,
) -> ChallengeGrade:
    lateness = lateness_of(submission, student, assignment)
    points = result.score
    if result.is_ungraded and assignment.ungraded == "zero":
        points = 0.0
    if override is not None:
        # No penalty is taken from points that a person decided.
        points, lateness = override.points, replace(lateness, penalty=0.0)
    elif points is not None:
        points = round(max(0.0, points - lateness.penalty), 1)
    return ChallengeGrade(
        challenge=result.challenge,
        file=submission.file,
        verdict=result.verdict,
        score=result.score,
        lateness=lateness,
        override=override,
        points=points,
        error=result.error or submission.trouble,
        missing_module=result.missing_module,
        alternatives=submission.alternatives,
        is_ungraded=result.is_ungraded,
    )
