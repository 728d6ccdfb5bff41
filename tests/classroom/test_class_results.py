"""Tests of reading the results of a class with the points that hold now."""

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from tests.support.class_results import class_record, result
from trainer.classroom.changed_marks import marks_of
from trainer.classroom.class_results import (
    class_gradebook,
    current_results,
    decided_file,
    decisions,
)
from trainer.classroom.overrides import OVERRIDES_FILE
from trainer.classroom.records import AssignedChallenge, Assignment, Gradebook
from trainer.classroom.result_store import ClassRecord, ResultStore
from trainer.model.errors import DrillError

DUE = 1_800_000_000.0
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
    assert store.read("Ana", "first") == second


def gradebook(store: ResultStore, class_: ClassRecord) -> Gradebook:
    """Return the gradebook of the results and decisions in a store."""
    return class_gradebook(class_, current_results(store, class_), decisions(store, class_))


def test_decision_for_another_file_says_so(tmp_path: Path) -> None:
    """A digest in the file tells for which text the points were decided."""
    store = store_with(tmp_path, "Ana", "Zoe")
    class_ = record()
    for student, file in (("id-Ana", decided_file(class_, "Ana", "first")), ("zoe", "old")):
        with (tmp_path / OVERRIDES_FILE).open("a") as out:
            out.write(f'[[override]]\nstudent = "{student}"\npoints = 77\nfile = "{file}"\n')
    rows = {row.student.name: row for row in gradebook(store, class_).rows}
    assert [row.total for row in rows.values()] == [77.0, 77.0]
    overrides = {name: row.challenges["first"].override for name, row in rows.items()}
    assert {name: own and own.is_outdated for name, own in overrides.items()} == {
        "Zoe": True,
        "Ana": False,
    }


def test_decision_about_nobody_is_an_error(tmp_path: Path) -> None:
    """The sentence has the line and the name."""
    (tmp_path / OVERRIDES_FILE).write_text('[[override]]\nstudent = "Bob"\npoints = 1\n')
    with pytest.raises(DrillError, match=r"line 1: No student of this class is called 'Bob'"):
        decisions(ResultStore(tmp_path, ["first"]), record())


def test_marks_have_everything_that_decides_them(tmp_path: Path) -> None:
    """The total is the mark without a challenge."""
    store = store_with(tmp_path, "Ana")
    class_ = record(replace(PLAIN, due=DUE, penalty=10.0), "Ana")
    marks = marks_of(gradebook(store, class_), class_)["Ana"]
    (job,) = class_.jobs
    mark = marks["first"]
    assert mark.points == marks[""].points == round((mark.score or 0) - 10, 1)
    assert (mark.override, mark.digest, mark.text) == (None, job.digest, job.text)
    nobody = msgspec.structs.replace(class_, jobs=[])
    assert marks_of(gradebook(store, nobody), nobody)["Ana"][""].points is None
