"""Tests of the tables and pages that `grade` writes."""

import csv
import io
import zipfile
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from tests.support.class_results import assignment, make_class, result
from trainer.classroom.class_results import results_of
from trainer.classroom.records import Override, Student, StudentSubmission
from trainer.classroom.result_store import ClassFile, GradedTask, ResultStore
from trainer.cli.grade_outputs import known_overrides, parse_formats, write_outputs
from trainer.model.errors import DrillError

TASK = "digest-of-the-task"


def test_formats_are_read_in_order_without_repetition() -> None:
    """Capitals, spaces and empty parts do not count."""
    assert parse_formats(" HTML,csv,,html, junit ") == ("html", "csv", "junit")


def test_unknown_formats_are_refused() -> None:
    """The message has the unknown formats and the possible formats."""
    message = "--format names pdf, xlsx; the formats are csv, html, canvas, moodle, blackboard,"
    with pytest.raises(DrillError, match=message):
        parse_formats("csv,pdf,xlsx")


def graded(tmp_path: Path, *formats: str, **more: object) -> tuple[ResultStore, ClassFile]:
    """Write results of six students for two challenges. Zoe handed in only the first."""
    challenges = ("first", "second")
    store = ResultStore(tmp_path, list(challenges))
    class_ = [*make_class(challenges, 5), result("zoe", "first", None)]
    for found in class_:
        store.write(found)
    record = ClassFile(
        version="0",
        seed=1,
        per_student_seed=False,
        assignment=assignment(challenges),
        students=[Student(name) for name in dict.fromkeys(found.student for found in class_)],
        tasks=[
            GradedTask(StudentSubmission(found.student, found.challenge, found.file, None), TASK)
            for found in class_
        ],
        other_files=[],
        has_roster=False,
        formats=list(formats),
        salt="salt",
        **more,
    )
    return store, record


def table(path: Path) -> list[dict[str, str]]:
    """Return the rows of a table."""
    return list(csv.DictReader(io.StringIO(path.read_text("utf-8-sig"), newline="")))


def test_outputs_of_several_challenges_are_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Tables have a row for each student or result, and platforms get a file for each student."""
    store, record = graded(
        tmp_path, "csv", "gradescope", "github"
    )  # an earlier version wrote "github"
    failed = write_outputs(store, record)
    assert failed == sum(found.verdict is None for found in results_of(store, record)) > 0
    assert len(table(tmp_path / "grades.csv")) == 6
    assert len(table(tmp_path / "grades_by_challenge.csv")) == 11
    assert len(list((tmp_path / "gradescope").glob("*/results.json"))) == 6
    assert not (tmp_path / "github").exists()
    printed = capsys.readouterr().out
    assert "11 results" in printed
    assert f"written: {tmp_path / 'results'}, {tmp_path / 'grades.csv'}, " in printed


def test_system_without_ids_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The table is written, and stderr says who is missing and what to do."""
    write_outputs(*graded(tmp_path, "canvas"))
    assert len(table(tmp_path / "canvas.csv")) == 1  # the row of the points
    assert "and 1 more, because nobody knows who they are in Canvas" in capsys.readouterr().err


def test_students_outside_the_roster_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The teacher gave Canvas' own export already, so this is not the advice."""
    store, record = graded(tmp_path, "canvas")
    students = [replace(student, is_in_roster=False) for student in record.students[-1:]]
    write_outputs(store, msgspec.structs.replace(record, students=students, tasks=[]))
    name = students[0].name
    assert f"canvas.csv lacks {name}, because the roster does not have them." in (
        capsys.readouterr().err
    )


def test_markers_get_files_without_names(tmp_path: Path) -> None:
    """The names that belong to the ids are outside of the folder for markers."""
    store, record = graded(tmp_path, "csv", is_anonymous=True)
    write_outputs(store, record)
    ids = {row["student"]: row["anonymous_id"] for row in table(tmp_path / "anonymous_ids.csv")}
    assert len(ids) == 6
    markers = table(tmp_path / "markers" / "grades.csv")
    assert {row["student"] for row in markers} == set(ids.values())
    totals = {row["student"]: row["total"] for row in table(tmp_path / "grades.csv")}
    assert {row["student"]: row["total"] for row in markers} == {
        ids[name]: total for name, total in totals.items()
    }
    page = (tmp_path / "markers" / "report.html").read_text()
    assert "zoe" not in page
    assert "This page has anonymous ids instead of names." in page
    assert "The rest of this page names students." not in page
    assert "--resume" not in page


def test_feedback_is_written_for_each_student(tmp_path: Path) -> None:
    """The zip holds the same files as the folder."""
    store, record = graded(tmp_path, is_released=True)
    write_outputs(store, record)
    pages = {path.name for path in (tmp_path / "feedback").iterdir()}
    assert len(pages) == 6
    assert "zoe.html" in pages
    with zipfile.ZipFile(tmp_path / "feedback.zip") as archive:
        assert set(archive.namelist()) == pages


def test_files_of_a_student_who_left_are_removed(tmp_path: Path) -> None:
    """Files that `grade` did not write stay."""
    store, record = graded(tmp_path, "gradescope", is_released=True)
    write_outputs(store, record)
    (tmp_path / "feedback" / "notes.txt").touch()
    others = [student for student in record.students if student.name != "zoe"]
    tasks = [task for task in record.tasks if task.submission.student != "zoe"]
    write_outputs(store, msgspec.structs.replace(record, students=others, tasks=tasks))
    left = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*zoe*")}
    assert left <= {"results/first/zoe.json"}
    assert len(list((tmp_path / "gradescope").iterdir())) == 5
    assert (tmp_path / "feedback" / "notes.txt").exists()


def test_overrides_are_read_with_the_names_of_their_students(tmp_path: Path) -> None:
    """A fault names the file."""
    store, record = graded(tmp_path)
    (tmp_path / "overrides.toml").write_text('[[override]]\nstudent = "ZOE"\npoints = 5\n')
    assert known_overrides(store, record) == [Override("zoe", "", 5.0)]
    (tmp_path / "overrides.toml").write_text('[[override]]\nstudent = "Yan"\npoints = 5\n')
    with pytest.raises(DrillError, match=r"overrides\.toml: No student of this class .* 'Yan'"):
        known_overrides(store, record)
