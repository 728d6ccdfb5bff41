"""Tests of the gradebook: points, penalties and overrides."""

from dataclasses import replace
from typing import Literal

import pytest

from tests.support.class_results import result
from trainer.classroom.gradebook import grades_of
from trainer.classroom.records import (
    AssignedChallenge,
    Assignment,
    Override,
    Student,
    StudentGrade,
    StudentResult,
    StudentSubmission,
)

DUE, DAY = 1_800_000_000.0, 86_400.0
TWO = Assignment(
    "Week 3",
    (AssignedChallenge("first"), AssignedChallenge("second", worth=3)),
    due=DUE,
    penalty=10,
)
ONE = replace(TWO, challenges=TWO.challenges[:1])
ANA = Student("Ana")


def submission(student: str, challenge: str, **more: object) -> StudentSubmission:
    """Return a submission without its text."""
    return StudentSubmission(student, challenge, f"{student}/{challenge}.py", None, **more)  # type: ignore[arg-type]


def graded(
    scores: dict[str, float | None],
    *overrides: Override,
    assignment: Assignment = TWO,
    student: Student = ANA,
    **more: object,
) -> StudentGrade:
    """Return the only row of a class with one student.

    Args:
        scores: the score of each challenge; None for a grading that failed.
        overrides: the decisions of persons.
        assignment: the assignment.
        student: the student.
        more: further attributes of all submissions.
    """
    submissions = [submission("Ana", challenge, **more) for challenge in scores]
    results = [_result(challenge, score) for challenge, score in scores.items()]
    (row,) = rows(results, submissions, overrides, assignment, [student])
    return row


def _result(challenge: str, score: float | None) -> StudentResult:
    if score is None:
        return result("Ana", challenge, None)
    return result("Ana", challenge, "passed" if score == 100 else "failed", score=score)


def rows(
    results: list[StudentResult],
    submissions: list[StudentSubmission],
    overrides: tuple[Override, ...] = (),
    assignment: Assignment = TWO,
    students: list[Student] | None = None,
) -> tuple[StudentGrade, ...]:
    """Return the rows of a class."""
    return grades_of(assignment, students or [ANA], submissions, results, overrides)


def test_the_total_weighs_the_points_by_worth() -> None:
    """(1 x 100 + 3 x 50) / 4 = 62.5."""
    row = graded({"first": 100.0, "second": 50.0})
    assert row.total == 62.5
    assert row.files == ("Ana/first.py", "Ana/second.py")


def test_the_penalty_is_taken_from_each_late_challenge() -> None:
    """Two days cost 20 points of both challenges, and never more points than there are."""
    row = graded({"first": 100.0, "second": 10.0}, submitted=DUE + 2 * DAY)
    assert {name: grade.points for name, grade in row.challenges.items()} == {
        "first": 80.0,
        "second": 0.0,
    }
    assert row.total == 20.0
    assert row.is_late


def test_an_override_of_a_challenge_counts_without_a_penalty() -> None:
    """The total is computed from it: (1 x 90 + 3 x 80) / 4 = 82.5."""
    decided = Override("Ana", "first", 90.0, "an oral exam")
    row = graded({"first": 20.0, "second": 100.0}, decided, submitted=DUE + 2 * DAY)
    assert (row.challenges["first"].score, row.challenges["first"].points) == (20.0, 90.0)
    assert row.total == 82.5
    assert row.challenges["first"].lateness.penalty == 0.0


def test_an_override_of_the_total_leaves_the_challenges_unchanged() -> None:
    """The table shows both, so the decision can be understood."""
    row = graded({"first": 20.0, "second": 0.0}, Override("Ana", "", 55.5))
    assert [grade.points for grade in row.challenges.values()] == [20.0, 0.0]
    assert row.total == 55.5


def test_with_one_challenge_an_override_changes_points_and_total() -> None:
    """The points of the only challenge and the total are the same."""
    row = graded({"first": 20.0}, Override("Ana", "first", 70.0), assignment=ONE)
    assert (row.challenges["first"].points, row.total) == (70.0, 70.0)


def test_the_last_override_counts() -> None:
    """A person may decide again."""
    decisions = Override("Ana", "first", 1.0), Override("Ana", "first", 2.0)
    assert graded({"first": 0.0, "second": 0.0}, *decisions).challenges["first"].points == 2.0


def test_an_override_counts_for_a_student_who_handed_in_nothing() -> None:
    """The student may have shown the work in another way."""
    row = graded({}, Override("Ana", "first", 60.0), assignment=ONE)
    assert row.total == 60.0


def test_a_challenge_that_was_not_graded_leaves_the_total_open() -> None:
    """No student may lose points for a fault of the grader."""
    row = graded({"first": 100.0, "second": None})
    assert row.total is None
    decided = graded({"first": 100.0, "second": None}, Override("Ana", "second", 60.0))
    assert decided.total == 70.0


def test_a_late_file_without_a_time_has_no_penalty() -> None:
    """No penalty is taken until a person says when the file came."""
    row = graded({"first": 100.0, "second": 100.0}, is_marked_late=True)
    assert (row.total, row.is_late) == (100.0, True)


def test_a_student_without_files_has_an_empty_row() -> None:
    """The rows have the order of the students."""
    students = [ANA, Student("Bo", is_in_roster=True)]
    found = rows([_result("first", 100.0)], [submission("Ana", "first")], (), ONE, students)
    assert [row.student.name for row in found] == ["Ana", "Bo"]
    empty = found[1]
    assert (empty.total, dict(empty.challenges)) == (None, {})


@pytest.mark.parametrize(("ungraded", "points"), [("empty", None), ("zero", 0.0)])
def test_submission_that_a_person_must_settle_has_no_points(
    ungraded: Literal["empty", "zero"], points: float | None
) -> None:
    """Its cell and the total stay empty, unless the assignment asks for zeros."""
    unreadable = result("Ana", "first", None, error="gqa.pdf is no Python file.", is_ungraded=True)
    (row,) = rows(
        [unreadable], [submission("Ana", "first")], (), replace(ONE, ungraded=ungraded), [ANA]
    )
    grade = row.challenges["first"]
    assert (grade.points, row.total, grade.is_ungraded) == (points, points, True)
    assert grade.error == "gqa.pdf is no Python file."
