"""Tests of the names of feedback files."""

import io
import zipfile

import pytest

from tests.support.lms_readers import canvas_student_id, moodle_participant
from trainer.classroom.records import Student, System
from trainer.export.feedback_files import feedback_path, feedback_zip


@pytest.mark.parametrize(
    ("student", "path"),
    [
        pytest.param(Student("Ana Lee", upload="ana.py"), "Ana Lee.html", id="a plain file"),
        pytest.param(
            Student("Ana", system="canvas", system_id="101", upload="leeana_101_5551_gqa.py"),
            "leeana_101_5551_feedback.html",
            id="Canvas",
        ),
        pytest.param(
            Student("Ana", system="canvas", upload="leeana_LATE_101_5551_my_gqa-1.py"),
            "leeana_LATE_101_5551_feedback.html",
            id="Canvas, late",
        ),
        pytest.param(
            Student("Ana", system="moodle", upload="Ana Lee_12345_assignsubmission_file"),
            "Ana Lee_12345_assignsubmission_file_/feedback.html",
            id="a folder of Moodle",
        ),
        pytest.param(
            Student("Ana", system="moodle", upload="Ana Lee_12345_assignsubmission_file_gqa.py"),
            "Ana Lee_12345_assignsubmission_file_/feedback.html",
            id="a file of Moodle",
        ),
        pytest.param(
            Student("Ana", system="blackboard", system_id="alee", upload="W_alee_attempt_2026.py"),
            "alee/feedback.html",
            id="Blackboard",
        ),
    ],
)
def test_each_system_finds_its_student_by_the_path(student: Student, path: str) -> None:
    """The path begins like the path of the submission."""
    assert feedback_path(student) == path


@pytest.mark.parametrize("name", ["/tmp/x", "../../x", "..", "C:\\x", "a\0b", "n" * 250])
@pytest.mark.parametrize(
    ("system", "ending"),
    [
        ("", ""),
        ("canvas", "_1_2_gqa.py"),
        ("canvas", "_LATE_1_2_gqa.py"),
        ("moodle", "_1_assignsubmission_file"),
        ("blackboard", "_attempt_2026-12-01-10-00-00_gqa.py"),
    ],
)
def test_no_name_leads_out_of_the_folder(name: str, system: System, ending: str) -> None:
    """A member of a class's zip can have any name. Every file system accepts the new name."""
    student = Student(name, system=system, system_id=name, upload=name + ending)
    parts = feedback_path(student).split("/")
    assert len(parts) == 1 + (system in ("moodle", "blackboard"))
    assert not {"", ".", ".."} & set(parts)
    assert all(len(part.encode()) < 250 for part in parts)
    assert not any(char in part for part in parts for char in "\0\\:")


def test_the_systems_read_their_ids_from_the_paths() -> None:
    """The readers follow the documentation of the systems."""
    canvas = Student("Ana", system="canvas", upload="leeana_LATE_101_5551_gqa.py")
    assert canvas_student_id(feedback_path(canvas)) == "101"
    moodle = Student("Ana", system="moodle", upload="Ana_B Lee_12345_assignsubmission_file_gqa.py")
    assert moodle_participant(feedback_path(moodle)) == "12345"


def test_the_same_feedback_gives_the_same_zip() -> None:
    """The zip holds each page under its path."""
    files = [("a/feedback.html", b"<p>a"), ("王.html", b"<p>b")]
    data = feedback_zip(files)
    assert data == feedback_zip(files)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert {name: archive.read(name) for name in archive.namelist()} == dict(files)
