"""Build the gradebook of a class: results, times, penalties and the decisions of persons."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from trainer.classroom.lateness import lateness_of
from trainer.classroom.points import total
from trainer.classroom.records import (
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

_TOTAL = ""  # the challenge of an override of the total


def gradebook_of(
    assignment: Assignment,
    students: Sequence[Student],
    submissions: Sequence[StudentSubmission],
    results: Iterable[StudentResult],
    overrides: Iterable[Override] = (),
    other_files: Sequence[str] = (),
    *,
    has_roster: bool = False,
    possible: Mapping[str, str] | None = None,
) -> Gradebook:
    """Return the grades of a class.

    Args:
        assignment: the assignment of the class.
        students: all students of the class.
        submissions: the submissions of these students. Their text is not needed.
        results: the results of the submissions. They are read once, one at a time, because a whole
            class may not fit into memory.
        overrides: the decisions of persons. The last decision for a student and a challenge counts.
        other_files: the files and folders that were not graded and belong to no submission.
        has_roster: True if a roster was given.
        possible: the points possible of each column of the roster, by heading.
    """
    decided = {
        (override.student, challenge): replace(override, challenge=challenge)
        for override in overrides
        for challenge in [override.challenge or _only_challenge(assignment)]
    }
    by_key = {(submission.student, submission.challenge): submission for submission in submissions}
    # A decision counts also if there is nothing to grade.
    grades: dict[str, dict[str, ChallengeGrade]] = {student.name: {} for student in students}
    for (name, challenge), override in decided.items():
        if challenge != _TOTAL:
            grades[name][challenge] = _without_result(override, by_key.get((name, challenge)))
    for result in results:
        key = (result.student, result.challenge)
        grades[result.student][result.challenge] = _grade(
            result, by_key[key], assignment, decided.get(key)
        )
    rows = tuple(
        _row(student, grades[student.name], assignment, decided.get((student.name, _TOTAL)))
        for student in students
    )
    return Gradebook(assignment, rows, tuple(other_files), has_roster, possible or {})


def _only_challenge(assignment: Assignment) -> str:
    """Return the challenge of an assignment with a single challenge, otherwise `_TOTAL`.

    With a single challenge, its points and the total are the same.
    """
    ids = assignment.challenge_ids
    return ids[0] if len(ids) == 1 else _TOTAL


def _without_result(override: Override, submission: StudentSubmission | None) -> ChallengeGrade:
    """Return a grade that only a person has decided."""
    return ChallengeGrade(
        challenge=override.challenge,
        file="" if submission is None else submission.file,
        verdict=None,
        score=None,
        lateness=Lateness(),
        override=override,
        points=override.points,
    )


def _grade(
    result: StudentResult,
    submission: StudentSubmission,
    assignment: Assignment,
    override: Override | None,
) -> ChallengeGrade:
    lateness = lateness_of(submission, assignment)
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
        alternatives=submission.alternatives,
        is_ungraded=result.is_ungraded,
    )


def _row(
    student: Student,
    by_challenge: Mapping[str, ChallengeGrade],
    assignment: Assignment,
    override: Override | None,
) -> StudentGrade:
    in_order = {
        assigned.challenge: by_challenge[assigned.challenge]
        for assigned in assignment.challenges
        if assigned.challenge in by_challenge
    }
    points = total({name: grade.points for name, grade in in_order.items()}, assignment)
    return StudentGrade(
        student, in_order, override, points if override is None else override.points
    )
