"""Tests of the record of a class on disk."""

from pathlib import Path

import pytest

from trainer.classroom.class_record import (
    CLASS_FILE,
    ClassRecord,
    Mark,
    SavedOptions,
    Task,
    read_record,
    write_record,
)
from trainer.classroom.records import AssignedChallenge, Assignment, Student, StudentSubmission
from trainer.model.errors import DrillError


def test_record_of_a_class_survives_the_disk(tmp_path: Path) -> None:
    """Every value is the same after writing and reading. A new folder has no record."""
    assert read_record(tmp_path) is None
    record = ClassRecord(
        version="0",
        options=SavedOptions(folder="/class", challenge="first", write=["csv"]),
        seed=1,
        assignment=Assignment("Week 3", (AssignedChallenge("first", {"masks": 2.0}),)),
        students=[Student("Ana", row={"id": "1"})],
        tasks=[Task(StudentSubmission("Ana", "first", "f.py", None), "task", "text")],
        other_files=["notes.txt"],
        has_roster=True,
        salt="abc",
        marks={"Ana": {"": Mark(50.0), "first": Mark(50.0, penalty=10.0, text="text")}},
    )
    write_record(tmp_path, record)
    assert read_record(tmp_path) == record


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{}", "cannot be read as a record"),
        ('{"schema": "attn-drill.class/9", "seed": 1}', r"has schema attn-drill\.class/9; this"),
        ('{"schema": "attn-drill.class/3", "seed": "x"}', "cannot be read as a record"),
    ],
)
def test_unreadable_record_is_refused(tmp_path: Path, text: str, message: str) -> None:
    """A new grading must not replace the grades of an earlier grading."""
    (tmp_path / CLASS_FILE).write_text(text)
    with pytest.raises(DrillError, match=message):
        read_record(tmp_path)
