"""Tests of the gradebook: points, penalties, overrides, and the marks that a run changed."""

from dataclasses import replace
from pathlib import Path
from typing import Literal

import msgspec
import pytest

from attn_drill.classroom.gradebook import (
    changed_marks,
    class_gradebook,
    current_results,
    grades_of,
    marks_of,
)
from attn_drill.classroom.records import (
    AssignedChallenge,
    Assignment,
    Override,
    Student,
    StudentGrade,
    StudentResult,
    StudentSubmission,
)
from attn_drill.classroom.result_store import ClassRecord, Mark, ResultStore
from tests.support.classroom import class_record, result

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
    assert (row.total, row.challenges["first"].lateness.is_late) == (100.0, True)


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
    assert (grade.points, row.total, grade.result) == (points, points, unreadable)


PLAIN = Assignment("Week 3", (AssignedChallenge("first"),))


def record(assignment: Assignment = PLAIN, *names: str) -> ClassRecord:
    """Return the record of a class whose students handed in an hour after `DUE`."""
    return class_record(assignment, *names or ("Zoe", "Ana"), submitted=DUE + 3600)


def store_with(tmp_path: Path, *names: str) -> ResultStore:
    """Return a store in which these students failed the check `masks`."""
    store = ResultStore(tmp_path, ["first"])
    for name in names:
        store.write(result(name, verdict="failed", failed=("masks",), score=1.0))
    return store


def test_results_have_the_order_and_the_ids_of_the_students(tmp_path: Path) -> None:
    """A result of another file does not count: its digest is another."""
    store = store_with(tmp_path, "Ana", "Zoe", "Bo")
    store.write(replace(result("Bo"), task="an older digest"))
    results = current_results(store, record(PLAIN, "Zoe", "Ana", "Bo"))
    assert [(each.student, each.id) for each in results] == [("Zoe", "id-Zoe"), ("Ana", "id-Ana")]


def test_weights_and_due_times_change_the_points_without_a_new_grading(tmp_path: Path) -> None:
    """The files on the disk get the new points, because a program may read them."""
    store = store_with(tmp_path, "Ana")
    (first,) = current_results(store, record(PLAIN, "Ana"))
    heavy = (AssignedChallenge("first", {"masks": 30.0}),)
    (second,) = current_results(store, record(replace(PLAIN, challenges=heavy, due=DUE), "Ana"))
    assert first.score is not None
    assert second.score is not None
    assert second.score < first.score
    assert (first.late, second.late) == (False, True)
    assert store.read(record(PLAIN, "Ana").jobs[0]) == second


def test_marks_have_everything_that_decides_them(tmp_path: Path) -> None:
    """The total is the mark without a challenge."""
    store = store_with(tmp_path, "Ana")
    class_ = record(replace(PLAIN, due=DUE, penalty=10.0), "Ana")
    (result,) = current_results(store, class_)
    marks = marks_of(class_gradebook(class_, [result], ()), class_)["Ana"]
    mark = marks["first"]
    assert mark.points == marks[""].points == round((result.score or 0) - 10, 1)
    assert (mark.override, mark.text) == (None, class_.jobs[0].text)
    nobody = msgspec.structs.replace(class_, jobs=[])
    assert marks_of(class_gradebook(nobody, (), ()), nobody)["Ana"][""].points is None


OLD = Mark(50.0, text="text")


def marked(mark: Mark | None, total: float = 50.0, **changes: object) -> ClassRecord:
    """Return the record of a class with one student and one mark."""
    marks = {} if mark is None else {"Ana": {"": Mark(total), "first": mark}}
    return msgspec.structs.replace(class_record(PLAIN, "Ana"), marks=marks, **changes)


HEAVY = {"assignment": replace(PLAIN, challenges=(AssignedChallenge("first", {"masks": 1.0}),))}


@pytest.mark.parametrize(
    ("before", "after", "settings", "reason"),
    [
        (OLD, Mark(85.0, 85.0, "new"), {}, "override"),
        (Mark(85.0, 85.0, "text"), OLD, {}, "override taken back"),
        (OLD, Mark(90.0, text="new"), {}, "new file"),
        (OLD, Mark(None), {}, "no file any more"),
        (Mark(None, text="text"), OLD, HEAVY, "graded now"),
        (OLD, Mark(90.0, text="text"), HEAVY, "changed: challenges"),
        (
            OLD,
            Mark(90.0, text="text"),
            HEAVY | {"version": "1"},
            "changed: challenges, attn-drill 1 in place of 0",
        ),
        (OLD, Mark(40.0, text="text"), {}, "changed: the times or the challenge"),
    ],
)
def test_changed_mark_has_a_reason(
    before: Mark, after: Mark, settings: dict[str, object], reason: str
) -> None:
    """The change of the total needs no reason of its own."""
    assert changed_marks(marked(before), marked(after, total=70.0, **settings)) == [
        ("Ana", "first", before.points, after.points, reason)
    ]


def test_total_is_listed_if_no_challenge_explains_it() -> None:
    """A student who is not in the class any more has no mark."""
    assert changed_marks(marked(OLD), marked(OLD)) == []
    (change,) = changed_marks(marked(OLD), marked(OLD, total=40.0))
    assert (change.challenge, change.before, change.after) == ("", 50.0, 40.0)
    (change,) = changed_marks(marked(OLD), marked(None))
    assert (change.after, change.reason) == (None, "not in the class any more")
