"""Tests of the page that a student gets back, and of its name."""

import io
import zipfile
from collections.abc import Sequence
from dataclasses import replace

import pytest

from attn_drill.classroom.records import (
    Assignment,
    Lateness,
    Override,
    Student,
    StudentResult,
    System,
)
from attn_drill.export.feedback import feedback_html, feedback_path, feedback_zip
from attn_drill.report.words import visible
from tests.support.classroom import (
    CHECKS,
    FAILED,
    HOSTILE_NAMES,
    SHOWN,
    assignment,
    grade_of,
    result,
    student_grade,
    ungraded,
)
from tests.support.pages import Page
from tests.support.whole_class import canvas_student_id, moodle_participant

LATE = Lateness(True, 1e9, 9e8, is_extended=True, days=2, penalty=20.0)


def page(results: Sequence[StudentResult], settings: Assignment, **more: object) -> str:
    """Return the page of a student without penalties and overrides."""
    grade = student_grade(Student("Ann"), [grade_of(found) for found in results], settings, **more)
    return "".join(feedback_html(grade, settings))


def words(text: str) -> str:
    """Return the text of a page with single blanks."""
    return " ".join(Page(text).text.split())


def test_total_says_how_it_came_about() -> None:
    """Each challenge has its points, its penalty and its share. The override has its comment."""
    results = [result("Ann"), result("Ann", "second", "failed", failed=("masks",))]
    settings = assignment(("first", "second"))
    grades = [grade_of(results[0], lateness=LATE, points=80.0), grade_of(results[1])]
    by_checks = student_grade(Student("Ann"), grades, settings)
    shown = words("".join(feedback_html(by_checks, settings)))
    assert "Ann 78.4 of 100 points" in shown
    assert "first 100 −20 80 33% second 77.6 77.6 67%" in shown
    assert "due: 1998-07-09" in shown
    assert "with an extension" in shown
    assert "late: 2 days, −20 points" in shown
    decided = replace(by_checks, override=Override("Ann", "", 85.0, "Well told."), total=85.0)
    shown = words("".join(feedback_html(decided, settings)))
    assert "Ann 85 of 100 points Your teacher decided the total (override): 85 points." in shown
    assert "Well told." in shown


def test_override_of_a_challenge_takes_no_penalty() -> None:
    """The table says that the points are an override, and the challenge has the comment."""
    ann, settings = result("Ann"), assignment()
    decided = Override("Ann", "first", 85.0, "Well told.")
    grades = [grade_of(ann, lateness=LATE, points=85.0, override=decided)]
    grade = student_grade(Student("Ann"), grades, settings)
    shown = words("".join(feedback_html(grade, settings)))
    assert "first 100 85 override 100%" in shown
    assert "override: 85 points. Well told." in shown


def test_table_has_the_points_of_each_check() -> None:
    """A pass without points has a reason. Checks without a weight have no row."""
    shown = words(page([FAILED], assignment(shown="checks")))
    assert "values ✗ failed, 0% right 0.0 of 29.8" in shown
    assert "interface" not in shown
    assert "gradients – incomplete, 0% right 0.0 of 15.0" in shown
    assert "vectorised ✓ passed, but only 0% of values are right 0.0 of 7.5" in shown


def test_page_shows_the_reason_or_the_report() -> None:
    """The report has the messages of all checks, so the reasons stand alone without it."""
    no_load = result("Ann", verdict="error", failed=("loads",), skipped=CHECKS[1:])
    for shown in SHOWN:
        text = words(page([no_load], assignment(shown=shown)))
        assert ("seed 123456" in text) == (shown == "report")
        assert ("loads failed: it says <no> & stops" in text) == (shown == "checks")
        assert ("error: it says <no> & stops" in text) == (shown == "verdict")
        assert "Correct the file" in text


@pytest.mark.parametrize("found", [result("Ann", verdict=None), ungraded("Ann"), None])
def test_challenge_without_points_gives_no_total(found: StudentResult | None) -> None:
    """The page says why, and names no command. A person may decide the total."""
    results = [] if found is None else [found]
    text = words(page(results, assignment()))
    assert "There is no total yet, because the challenge has no points." in text
    assert "of 100 points" not in text
    assert "teacher" in text
    assert "--resume" not in text
    decided = words(page(results, assignment(), override=Override("Ann", "", 10.0)))
    assert "10 of 100 points" in decided


@pytest.mark.parametrize("name", HOSTILE_NAMES, ids=lambda name: visible(name)[:20])
def test_text_is_never_markup(name: str) -> None:
    """The page has the same tags if all texts are a hostile name. It loads nothing."""
    settings = assignment()
    pages = []
    for text in ("x", name):
        found = result(
            text, verdict="failed", failed=("values",), file=text, text=f"FAILED  x\n{text}"
        )
        override = Override(text, "", 5.0, text)
        grade = student_grade(Student(text), [grade_of(found)], settings, override)
        pages.append("".join(feedback_html(grade, settings)))
    plain, parsed = map(Page, pages)
    assert [tag for tag, _ in parsed.tags] == [tag for tag, _ in plain.tags]
    assert not parsed.named("script")
    assert not parsed.named("a")


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
