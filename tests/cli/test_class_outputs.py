"""Tests of the tables and pages that `class grade` writes."""

import csv
import io
import zipfile
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from attn_drill.classroom.records import StudentResult
from attn_drill.classroom.result_store import ClassRecord, ResultStore, read_record
from attn_drill.cli._class_run import write_outputs
from attn_drill.packs import pack_reader
from tests.support.class_results import assignment, class_record, make_class, result

CHALLENGES = ("first", "second")


def graded(tmp_path: Path, *formats: str) -> tuple[ResultStore, ClassRecord]:
    """Write results of six students for two challenges. Zoe's second is not graded yet."""
    store = ResultStore(tmp_path, list(CHALLENGES))
    class_: list[StudentResult] = [*make_class(CHALLENGES, 5), result("zoe", "first", None)]
    for each in class_:
        store.write(each)
    record = class_record(assignment(CHALLENGES), *dict.fromkeys(each.student for each in class_))
    options = msgspec.structs.replace(record.options, write=list(formats))
    return store, msgspec.structs.replace(record, options=options)


def table(path: Path) -> list[dict[str, str]]:
    """Return the rows of a table."""
    return list(csv.DictReader(io.StringIO(path.read_text("utf-8-sig"), newline="")))


def test_outputs_of_several_challenges_are_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Tables have a row for each student or result, and platforms get a file for each student."""
    store, record = graded(tmp_path, "csv", "gradescope")
    assert write_outputs(store, record, None) > 0  # the results without a verdict
    assert len(table(tmp_path / "grades.csv")) == 6
    assert len(table(tmp_path / "grades_by_challenge.csv")) == 11
    assert len(list((tmp_path / "gradescope").glob("*/results.json"))) == 6
    printed = capsys.readouterr().out
    assert "11 results" in printed
    assert f"written: {tmp_path / 'results'}, {tmp_path / 'grades.csv'}, " in printed
    marks = read_record(tmp_path)
    assert marks is not None
    assert set(marks.marks) == {student.name for student in record.students}


def test_many_changed_marks_are_in_a_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The terminal shows the first ten."""
    names = [f"student {index:02}" for index in range(12)]
    store, record = ResultStore(tmp_path, ["first"]), class_record(assignment(), *names)
    for name in names:
        store.write(result(name))
    write_outputs(store, record, None)
    (tmp_path / "overrides.toml").write_text(
        "".join(f'[[override]]\nstudent = "{name}"\npoints = 1\n' for name in names)
    )
    write_outputs(store, record, read_record(tmp_path))
    printed = capsys.readouterr().out
    assert "12 marks changed:\n  student 00, first: 100 → 1, override\n" in printed
    assert "student 09, first" in printed
    assert "student 10, first" not in printed
    assert {row["reason"] for row in table(tmp_path / "changed_marks.csv")} == {"override"}


def test_copy_of_an_answer_in_another_style_is_listed(tmp_path: Path) -> None:
    """All right answers of a pack are public, not only the reference."""
    challenge = pack_reader.find_challenge(pack_reader.built_in_pack(), "gqa")
    answer = pack_reader.also_right(challenge)[0]
    store = ResultStore(tmp_path, ["gqa"])
    store.write(result("Ann", "gqa", source=f"# my work\n{pack_reader.read_text(answer)}"))
    record = class_record(assignment(["gqa"]), "Ann")
    options = msgspec.structs.replace(record.options, write=["html"])
    write_outputs(store, msgspec.structs.replace(record, options=options), None)
    assert f"the text of {answer.name}" in (tmp_path / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("is_in_roster", [None, False])
def test_students_whom_a_system_cannot_identify_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], is_in_roster: bool | None
) -> None:
    """The table is written without them."""
    store, record = graded(tmp_path, "canvas")
    students = [replace(own, id="", is_in_roster=is_in_roster) for own in record.students[-1:]]
    write_outputs(store, msgspec.structs.replace(record, students=students, jobs=[]), None)
    said = capsys.readouterr().err
    assert f"does not know them: {students[0].name}." in said
    assert len(table(tmp_path / "canvas.csv")) == 1  # the row of the points


def test_markers_get_files_without_names(tmp_path: Path) -> None:
    """The names that belong to the ids are outside of the folder for markers."""
    store, record = graded(tmp_path, "csv", "markers")
    write_outputs(store, record, None)
    ids = {row["student"]: row["anonymous_id"] for row in table(tmp_path / "anonymous_ids.csv")}
    totals = {row["student"]: row["total"] for row in table(tmp_path / "grades.csv")}
    assert {row["student"]: row["total"] for row in table(tmp_path / "markers" / "grades.csv")} == {
        ids[name]: total for name, total in totals.items()
    }
    assert "zoe" not in (tmp_path / "markers" / "report.html").read_text()


def test_files_of_a_student_who_left_are_removed(tmp_path: Path) -> None:
    """The zip of the feedback holds the pages of its folder. Files of other programs stay."""
    store, record = graded(tmp_path, "gradescope", "feedback")
    write_outputs(store, record, None)
    pages = {path.name for path in (tmp_path / "feedback").iterdir()}
    assert len(pages) == 6
    with zipfile.ZipFile(tmp_path / "feedback.zip") as archive:
        assert set(archive.namelist()) == pages
    (tmp_path / "feedback" / "notes.txt").touch()
    others = [student for student in record.students if student.name != "zoe"]
    jobs = [job for job in record.jobs if job.submission.student != "zoe"]
    write_outputs(store, msgspec.structs.replace(record, students=others, jobs=jobs), None)
    assert not list(tmp_path.rglob("*zoe*"))
    assert len(list((tmp_path / "gradescope").iterdir())) == 5
    assert (tmp_path / "feedback" / "notes.txt").exists()
