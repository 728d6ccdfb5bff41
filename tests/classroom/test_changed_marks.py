"""Tests of the marks that a run changed, and of the reasons."""

from dataclasses import replace

import msgspec
import pytest

from tests.support.class_results import class_record
from trainer.classroom.changed_marks import ChangedMark, changed_marks
from trainer.classroom.records import AssignedChallenge, Assignment
from trainer.classroom.result_store import ClassRecord, Mark

PLAIN = Assignment("Week 3", (AssignedChallenge("first"), AssignedChallenge("second")))
OLD = Mark(50.0, score=60.0, digest="digest", text="text")


def record(mark: Mark | None, total: float = 50.0, **changes: object) -> ClassRecord:
    """Return the record of a class with one student and one mark."""
    marks = {} if mark is None else {"Ana": {"": Mark(total), "first": mark}}
    return msgspec.structs.replace(class_record(PLAIN, "Ana"), marks=marks, **changes)


HEAVY = {"assignment": replace(PLAIN, challenges=(AssignedChallenge("first", {"masks": 1.0}),))}
NEWER = {"version": "1"}


@pytest.mark.parametrize(
    ("changes", "settings", "reason"),
    [
        ({"points": 85.0, "override": 85.0, "text": "new"}, {}, "override"),
        ({"points": 90.0, "text": "new", "digest": "new"}, {}, "new file"),
        ({"points": None, "text": "", "digest": "new"}, {}, "no file any more"),
        ({"points": 90.0, "digest": "new"}, {}, "other cases, limits or challenge"),
        ({"points": 90.0, "score": 100.0}, HEAVY, "weights"),
        ({"points": 90.0, "score": 100.0}, NEWER, "attn-drill 1 in place of 0"),
        ({"points": 90.0, "score": 100.0}, HEAVY | NEWER, "weights"),
        ({"points": 60.0}, {}, "due time, penalty or another key of the assignment"),
    ],
)
def test_reason_is_the_first_cause(
    changes: dict[str, object], settings: dict[str, object], reason: str
) -> None:
    """The change of the total needs no reason of its own."""
    new = msgspec.structs.replace(OLD, **changes)
    now = record(new, total=70.0, **settings)
    assert changed_marks(record(OLD), now) == [
        ChangedMark("Ana", "first", 50.0, new.points, reason)
    ]


def test_removed_override_and_graded_submission_have_reasons() -> None:
    """A student who is not in the class any more has no mark."""
    decided = msgspec.structs.replace(OLD, override=85.0, points=85.0)
    waiting = msgspec.structs.replace(OLD, points=None, score=None)
    assert [
        [change.reason for change in changed_marks(record(before), record(now))]
        for before, now in ((decided, OLD), (waiting, OLD), (OLD, OLD))
    ] == [["override taken back"], ["graded now"], []]
    (change,) = changed_marks(record(OLD), record(None))
    assert (change.after, change.reason) == (None, "not in the class any more")


def test_total_is_listed_if_no_challenge_explains_it() -> None:
    """The challenges may count otherwise."""
    (change,) = changed_marks(record(OLD), record(OLD, total=40.0))
    assert change == ChangedMark("Ana", "", 50.0, 40.0, change.reason)
    assert change.reason == "due time, penalty or another key of the assignment"
