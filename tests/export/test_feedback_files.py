"""Tests of the names of feedback files."""

import io
import zipfile

import pytest

from tests.support.lms_readers import canvas_student_id, moodle_participant
from trainer.classroom.records import Student
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
        pytest.param(
            Student("../../x", upload="x.py"), ".._.._x-e9d1a5c6.html", id="a name with slashes"
        ),
    ],
)
def test_each_system_finds_its_student_by_the_path(student: Student, path: str) -> None:
    """The path begins like the path of the submission."""
    found = feedback_path(student)
    if "/" in student.name:
        assert "/" not in found
    else:
        assert found == path


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
