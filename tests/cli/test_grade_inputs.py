"""Tests of reading the assignment, the submissions, the roster and the times."""

import json
from pathlib import Path

import pytest

from attn_drill.classroom.assignment import plain_assignment, read_time
from attn_drill.cli._class_run import ClassInputs, read_class
from tests.support.collect import ONE, named_files, write_files


def inputs(folder: Path, **more: object) -> ClassInputs:
    """Read the class of a folder."""
    settings: dict[str, object] = {"assignment": plain_assignment("gqa"), "challenges": ONE} | more
    return read_class(folder, **settings)  # type: ignore[arg-type]


def test_everything_unclear_is_said_on_stderr(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Other files, strangers, times and extensions of nobody, and clashes of names."""
    from dataclasses import replace

    files = named_files("ana.py", "Ana/gqa.py", "zoe.py", "notes.txt")
    folder = write_files(tmp_path / "in", files)
    (tmp_path / "roster.csv").write_text("id,name\n1,Ana\n2,Bo\n")
    (tmp_path / "times.csv").write_text("student,submitted\nDi,2026-12-01 10:00\n")
    found = inputs(
        folder,
        assignment=replace(
            plain_assignment("gqa"),
            extensions={"Cy": 1e9, "1": 2e9},
            times=str(tmp_path / "times.csv"),
        ),
        roster_file=str(tmp_path / "roster.csv"),
    )
    said = capsys.readouterr().err
    for sentence in (
        "Not graded, because nobody asked for it: notes.txt.",
        "The roster does not have these students: zoe.",
        "times.csv names nobody of this class: Di.",
        "[extensions] names nobody of this class: Cy.",
    ):
        assert sentence in said
    assert found.roster
    assert found.assignment.extensions == {"Ana": 2e9}
    assert [student.name for student in found.collected.students] == ["Ana", "Bo", "zoe"]


def test_a_clear_class_needs_no_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without a roster, nobody is a stranger."""
    found = inputs(write_files(tmp_path / "in", named_files("ana.py", "bo.py")))
    assert found.roster is None
    assert capsys.readouterr().err == ""


def test_metadata_of_gradescope_lies_next_to_the_submission(tmp_path: Path) -> None:
    """It gives the times of a single student."""
    folder = write_files(tmp_path / "submission", named_files("gqa.py"))
    (tmp_path / "submission_metadata.json").write_text(
        json.dumps(
            {
                "created_at": "2026-12-01T10:00:00Z",
                "assignment": {"due_date": "2026-12-01T09:00:00Z"},
                "users": [{"name": "Ana", "email": "a@u.example", "id": 1}],
            }
        )
    )
    found = inputs(folder, single=True)
    assert found.assignment.due == read_time("2026-12-01T09:00:00Z")
    (submission,) = found.collected.submissions
    assert submission.submitted == read_time("2026-12-01T10:00:00Z")
    assert found.collected.students[0].name == "submission"
