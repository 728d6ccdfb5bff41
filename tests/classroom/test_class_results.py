"""Tests of reading the results of a class with the points that hold now."""

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from tests.support.class_results import result
from trainer.classroom.class_results import (
    class_gradebook,
    follow_renamed,
    results_of,
    rewrite_changed,
    with_full_name,
)
from trainer.classroom.points import score
from trainer.classroom.records import (
    AssignedChallenge,
    Assignment,
    Override,
    Student,
    StudentResult,
    StudentSubmission,
)
from trainer.classroom.result_store import ClassFile, GradedTask, ResultStore
from trainer.model.errors import DrillError
from trainer.model.report import Report

DUE = 1_800_000_000.0
PLAIN = Assignment("Week 3", (AssignedChallenge("first"),))


def report_of(found: StudentResult) -> Report:
    """Return the report of a result that was graded."""
    assert found.report is not None
    return found.report


def record(assignment: Assignment = PLAIN, *names: str) -> ClassFile:
    """Return the record of a class whose students handed in an hour after `DUE`."""
    students = [Student(name, id=f"id-{name}") for name in names or ("Zoe", "Ana")]
    return ClassFile(
        version="0",
        seed=1,
        per_student_seed=False,
        assignment=assignment,
        students=students,
        tasks=[
            GradedTask(
                StudentSubmission(student.name, "first", "f.py", None, submitted=DUE + 3600),
                "digest-of-the-task",
            )
            for student in students
        ],
        other_files=["notes.txt"],
        has_roster=True,
        formats=["csv"],
    )


def store_with(tmp_path: Path, *names: str) -> ResultStore:
    """Return a store in which these students failed the check `masks`."""
    store = ResultStore(tmp_path, ["first"])
    for name in names:
        store.write(result(name, verdict="failed", failed=("masks",), score=1.0))
    return store


def test_results_have_the_order_of_the_students(tmp_path: Path) -> None:
    """The ids come from the students."""
    found = list(results_of(store_with(tmp_path, "Ana", "Zoe"), record()))
    assert [(each.student, each.id) for each in found] == [("Zoe", "id-Zoe"), ("Ana", "id-Ana")]


def test_a_result_of_another_file_does_not_count(tmp_path: Path) -> None:
    """Its digest is another, or it is missing."""
    store = store_with(tmp_path, "Ana")
    store.write(replace(result("Zoe"), task="an older digest"))
    assert [each.student for each in results_of(store, record())] == ["Ana"]


def test_changed_weights_and_due_times_change_the_points_without_a_new_grading(
    tmp_path: Path,
) -> None:
    """The statuses of the checks stay the same, so nothing has to run."""
    store = store_with(tmp_path, "Ana")
    heavy = AssignedChallenge("first", {"masks": 30.0})
    before, after = (
        record(PLAIN, "Ana"),
        record(replace(PLAIN, challenges=(heavy,), due=DUE), "Ana"),
    )
    (first,), (second,) = results_of(store, before), results_of(store, after)
    assert first.score == score(report_of(first), PLAIN.challenges[0], PLAIN)
    assert second.score == score(report_of(first), heavy, PLAIN) < first.score
    assert (first.late, second.late) == (False, True)


def test_the_files_on_the_disk_get_the_new_points(tmp_path: Path) -> None:
    """A program may read them."""
    store = store_with(tmp_path, "Ana")
    changed = record(replace(PLAIN, due=DUE), "Ana")
    rewrite_changed(store, changed)
    stored = store.read("Ana", "first")
    assert stored is not None
    assert (stored.id, stored.late) == ("id-Ana", True)
    assert stored.score == next(results_of(store, changed)).score


def renamed(record: ClassFile, **names: str) -> ClassFile:
    """Return a record in which students have other names and hand in the same files."""
    tasks = [
        GradedTask(
            replace(
                task.submission,
                student=names.get(task.submission.student, task.submission.student),
                file=f"{task.submission.student}.py",
            ),
            task.task,
        )
        for task in record.tasks
    ]
    return msgspec.structs.replace(record, tasks=tasks)


def test_result_follows_the_new_name_of_its_student(tmp_path: Path) -> None:
    """A first roster renames students. Nothing is graded again, and no old result stays."""
    store = store_with(tmp_path, "Ana", "Zoe")
    old = store.read("Ana", "first")
    assert old is not None
    follow_renamed(store, renamed(record()), renamed(record(), Ana="Ana Lee"))
    assert store.read("Ana Lee", "first") == replace(old, student="Ana Lee")
    assert sorted(path.name for path in (tmp_path / "results").iterdir()) == [
        "Ana Lee.json",
        "Zoe.json",
    ]


def test_outdated_result_of_a_renamed_student_is_removed(tmp_path: Path) -> None:
    """The file has changed, so it is graded again."""
    store = store_with(tmp_path, "Ana")
    now = renamed(record(PLAIN, "Ana"), Ana="Ana Lee")
    now = msgspec.structs.replace(now, tasks=[GradedTask(now.tasks[0].submission, "new digest")])
    follow_renamed(store, renamed(record(PLAIN, "Ana")), now)
    assert not list((tmp_path / "results").iterdir())


def test_result_of_a_file_that_is_gone_stays(tmp_path: Path) -> None:
    """A teacher may have moved the file away and may bring it back."""
    store = store_with(tmp_path, "Ana", "Zoe")
    follow_renamed(store, renamed(record()), renamed(record(PLAIN, "Zoe")))
    assert store.read("Ana", "first") is not None


def test_an_override_may_name_a_student_in_any_way(tmp_path: Path) -> None:
    """The gradebook has the name of the student."""
    store = store_with(tmp_path, "Ana", "Zoe")
    override = with_full_name(Override("id-Ana", "first", 77.0), record())
    book = class_gradebook(store, record(), [override])
    assert {row.student.name: row.total for row in book.rows}["Ana"] == 77.0
    assert (book.other_files, book.has_roster) == (("notes.txt",), True)


def test_an_override_of_nobody_is_an_error() -> None:
    """The sentence has the name."""
    with pytest.raises(DrillError, match="No student of this class is called 'Bob'"):
        with_full_name(Override("Bob", "first", 1.0), record())


def test_the_record_of_a_class_survives_the_disk(tmp_path: Path) -> None:
    """Every value of the record is the same after writing and reading."""
    store = ResultStore(tmp_path, ["first"])
    written = msgspec.structs.replace(record(), salt="abc", is_released=True)
    store.write_class_file(written)
    assert store.class_file() == written
