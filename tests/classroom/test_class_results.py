"""Tests of reading the results of a class with the points that hold now."""

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from tests.support.class_results import class_record, result
from trainer.classroom.class_results import (
    changed_marks,
    class_gradebook,
    current_results,
    marks_of,
)
from trainer.classroom.records import AssignedChallenge, Assignment
from trainer.classroom.result_store import ClassRecord, Mark, ResultStore

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
