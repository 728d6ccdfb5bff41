"""Tests of reading the assignment, the submissions, the roster and the times."""

import json
from pathlib import Path

import pytest

from tests.support.collect import ONE, named_files, write_files
from trainer.classroom.assignment import plain_assignment
from trainer.classroom.records import Extension
from trainer.classroom.times import read_time
from trainer.cli import grade_inputs
from trainer.cli.grade_inputs import ClassInputs, check_weights_of, read_class
from trainer.model.checks import Status
from trainer.model.errors import DrillError, GraderError
from trainer.model.report import Outcome, Report
from trainer.server.messages import Refused, Verdict


def inputs(folder: Path, **more: object) -> ClassInputs:
    """Read the class of a folder."""
    settings: dict[str, object] = {
        "assignment": plain_assignment("gqa"),
        "challenges": ONE,
        "roster_file": None,
        "submitted_file": None,
        "single": False,
    } | more
    return read_class(folder, **settings)  # type: ignore[arg-type]


def test_everything_unclear_is_said_on_stderr(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Other files, strangers, times and extensions of nobody, and clashes of names."""
    from dataclasses import replace

    files = named_files("ana.py", "Ana/gqa.py", "zoe.py", "notes.txt")
    folder = write_files(tmp_path / "in", files)
    (tmp_path / "roster.csv").write_text("id,name\n1,Ana\n2,Bo\n")
    (tmp_path / "times.csv").write_text("student,submitted\nBo,2026-12-01 10:00\n")
    found = inputs(
        folder,
        assignment=replace(plain_assignment("gqa"), extensions={"Cy": Extension(days=1)}),
        roster_file=tmp_path / "roster.csv",
        submitted_file=tmp_path / "times.csv",
    )
    said = capsys.readouterr().err
    for sentence in (
        "Not graded, because nobody asked for it: notes.txt.",
        "The roster does not have these students: zoe.",
        "times.csv names students who handed in nothing: “Bo”.",
        "[extensions] names nobody of this class: Cy.",
    ):
        assert sentence in said
    assert found.has_roster
    assert [student.name for student in found.collected.students] == ["Ana", "Bo", "zoe"]


def test_a_clear_class_needs_no_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without a roster, nobody is a stranger."""
    found = inputs(write_files(tmp_path / "in", named_files("ana.py", "bo.py")))
    assert not found.has_roster
    assert capsys.readouterr().err == ""


def test_roster_of_a_single_student_is_refused(tmp_path: Path) -> None:
    """The report would count the other students as missing."""
    (tmp_path / "roster.csv").write_text("id,name\n1,Ana\n2,Bo\n")
    folder = write_files(tmp_path / "in", named_files("gqa.py"))
    with pytest.raises(DrillError, match="--roster lists a class, but with --single DIR is one"):
        inputs(folder, roster_file=tmp_path / "roster.csv", single=True)


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


def _graded(*statuses: tuple[str, Status]) -> Verdict:
    outcomes = tuple(Outcome(check, status) for check, status in statuses)
    return Verdict(0, Report("gqa", "f", 1, "passed", outcomes), True)


def test_weights_of_missing_checks_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server grades the reference, whose report has all checks of the challenge."""
    from dataclasses import replace

    plain = plain_assignment("gqa")
    heavy = replace(plain, challenges=(replace(plain.challenges[0], weights={"memory": 2.0}),))
    (tmp_path / "a.toml").write_text('[[challenge]]\nid = "gqa"\nweights = { memory = 2 }\n')
    asked = []

    def ask(packs: object, request: object) -> object:
        asked.append(request)
        return _graded(("loads", "passed"), ("values", "passed"))

    monkeypatch.setattr(grade_inputs.pool, "ask", ask)
    with pytest.raises(DrillError, match=r"line 3.*memory.*values"):
        check_weights_of(heavy, tmp_path / "a.toml", [tmp_path], 1)
    assert len(asked) == 1
    check_weights_of(plain, tmp_path / "a.toml", [tmp_path], 1)
    assert len(asked) == 1, "without changed weights, no server is asked"
    monkeypatch.setattr(grade_inputs.pool, "ask", lambda packs, request: Refused(0, "No sandbox."))
    with pytest.raises(GraderError, match=r"No sandbox\."):
        check_weights_of(heavy, tmp_path / "a.toml", [tmp_path], 1)
