"""Tests of a grading on disk: the names and the content of its files."""

import errno
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from attn_drill.classroom.records import AssignedChallenge, Assignment, Student, StudentSubmission
from attn_drill.classroom.result_store import (
    CLASS_FILE,
    ClassRecord,
    Job,
    Mark,
    ResultStore,
    SavedOptions,
    decode_result,
    encode_result,
    read_record,
    safe_name,
    write_atomically,
    write_record,
)
from attn_drill.export.feedback import with_report, with_trouble
from attn_drill.model.errors import DrillError, GraderError
from tests.support.classroom import BARE, TINY, WRONG_SUM, submission
from tests.support.grading import report_of


@pytest.mark.parametrize("name", ["ana", "Ana López", "漢字 😀", "O'Brien"])
def test_ordinary_names_do_not_change(name: str) -> None:
    """The file has the student's own name if every file system accepts the name."""
    assert safe_name(name) == name


@pytest.mark.parametrize(
    "name",
    [
        *("", ".", "..", "../../etc/passwd", "a\\b", "new\nline", 'quote"'),
        *("x" * 300, " ana", "ana.", "\u202egnp", "a\0b", "😀" * 80),
    ],
)
def test_unsafe_names_become_safe_file_names(name: str) -> None:
    """A safe name is a short file name without control characters, different for each student."""
    safe = safe_name(name)
    assert safe not in ("", ".", "..")
    assert not set(safe) & set('/\\\n\0\u202e"')
    assert len(safe.encode()) <= 130
    assert safe != safe_name(name + "_")


def test_full_disk_leaves_the_old_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No other file remains, and the sentence gives the next step."""
    path = tmp_path / "results" / "ana.json"
    write_atomically(path, b"old")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(GraderError, match=r"ana\.json cannot be written: No space left.*--resume"):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert [file.name for file in path.parent.iterdir()] == ["ana.json"]


def test_file_of_another_student_is_not_a_result(tmp_path: Path) -> None:
    """A renamed, incomplete or invalid file is not read, so that the submission is graded again."""
    store = ResultStore(tmp_path, ["prefix-sum"])
    ana, ben = (Job(submission(name), 1, "t") for name in ("ana", "ben"))
    result = replace(with_trouble(BARE, "It is empty."), source="x = (\n")
    store.write(result)
    assert store.read(ana) == result
    assert store.read(Job(ana.submission, 1, "other")) is None
    path = store.path("ana", "prefix-sum")
    path.rename(store.path("ben", "prefix-sum"))
    assert store.read(ben) is None
    path.write_bytes(encode_result(result)[:100])
    assert store.read(ana) is None
    path.write_text("[" * 100_000)
    assert store.read(ana) is None


def test_each_challenge_has_its_own_folder(tmp_path: Path) -> None:
    """The results of a student for two challenges are in different files."""
    store = ResultStore(tmp_path, ["a", "b"])
    assert store.path("ana", "a") != store.path("ana", "b")


def test_file_of_a_result_holds_the_whole_report(grader: object) -> None:
    """The file has the object of `check --json`, the student, and the text without the mistake."""
    from attn_drill.grading.grader import Grader

    assert isinstance(grader, Grader)
    report = report_of(grader, TINY, WRONG_SUM, "ana.py", 5, diagnosed=True)
    result = with_report(replace(BARE, score=12.5), report, WRONG_SUM)
    text = encode_result(result)
    assert json.loads(text)["schema"] == "attn-drill.report/1"
    assert (result.student, result.verdict, result.score) == ("ana", "failed", 12.5)
    read = decode_result(text)
    assert encode_result(read) == text
    assert read.report is not None
    assert read.report.first_failure().message == report.first_failure().message
    assert result.text.startswith("FAILED  prefix-sum")
    assert "LIKELY" not in result.text
    assert read.source == WRONG_SUM
    assert read.line == 3
    assert text.isascii()


def test_record_of_a_class_survives_the_disk(tmp_path: Path) -> None:
    """A new folder has no record. A new grading must not replace a record of another version."""
    assert read_record(tmp_path) is None
    record = ClassRecord(
        version="0",
        options=SavedOptions(folder="/class", challenge="first", write=["csv"]),
        seed=1,
        assignment=Assignment("Week 3", (AssignedChallenge("first", {"masks": 2.0}),)),
        students=[Student("Ana", row={"id": "1"})],
        jobs=[Job(StudentSubmission("Ana", "first", "f.py", None), 7, "digest", "text")],
        other_files=["notes.txt"],
        has_roster=True,
        salt="abc",
        marks={"Ana": {"": Mark(50.0), "first": Mark(50.0, text="text")}},
    )
    write_record(tmp_path, record)
    assert read_record(tmp_path) == record
    text = (tmp_path / CLASS_FILE).read_text()
    for unreadable in (text.replace("class/4", "class/3"), text[:100], "{}"):
        (tmp_path / CLASS_FILE).write_text(unreadable)
        with pytest.raises(DrillError, match=r"class\.json is no record .* Name another folder"):
            read_record(tmp_path)
