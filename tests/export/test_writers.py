"""Tests of the table of formats: each format writes its files, and removes outdated ones."""

import csv
import io
from dataclasses import replace
from pathlib import Path

import pytest

from attn_drill.classroom.records import Gradebook, Student
from attn_drill.export.writers import WRITERS, GradedClass
from tests.support.classroom import (
    assignment,
    grade_of,
    make_class,
    make_gradebook,
    result,
    student_grade,
)

FILES = {
    "csv": ["grades.csv", "grades_by_challenge.csv"],
    "html": ["report.html", "class.html"],
    "canvas": ["canvas.csv"],
    "moodle": ["moodle.csv"],
    "blackboard": ["blackboard.csv"],
    "gradescope": ["gradescope"],
    "junit": ["junit.xml"],
    "feedback": ["feedback", "feedback.zip"],
    "markers": ["markers/report.html", "markers/grades.csv", "anonymous_ids.csv"],
    "similar": ["similar.csv"],
}
COPY = "def first(x):\n    return x + x\n"


def graded_class(*names: str) -> GradedClass:
    """Return a class whose students handed in the same file."""
    results = [result(name, source=f"# {name}\n{COPY}") for name in names]
    rows = [
        student_grade(Student(found.student, id=f"id {found.student}"), [grade_of(found)], ONE)
        for found in results
    ]
    return GradedClass(Gradebook(ONE, (*rows,)), {"first": {"solution.py": COPY}}, "salt")


ONE = assignment()


def table(path: Path) -> list[dict[str, str]]:
    """Return the rows of a table, which begins with a byte order mark."""
    text = path.read_bytes()
    assert text.startswith(b"\xef\xbb\xbf")
    return list(csv.DictReader(io.StringIO(text.decode("utf-8-sig"), newline="")))


@pytest.mark.parametrize("name", WRITERS)
def test_each_format_writes_its_files(name: str, tmp_path: Path) -> None:
    """Hostile names are no obstacle. The function returns the paths."""
    if name == "similar":
        pytest.importorskip("copydetect", reason="the extra `similar` is not installed")
    graded = graded_class("Ann", "Bo Lee")
    hostile = replace(graded, gradebook=make_gradebook(make_class()[:20], ONE))
    for each, folder in ((graded, tmp_path / "a"), (hostile, tmp_path / "b")):
        paths = WRITERS[name](each, folder)
        assert [path.relative_to(folder).as_posix() for path in paths] == FILES[name]
        assert all(path.exists() for path in paths)


def test_copies_are_listed_without_an_extra_package(tmp_path: Path) -> None:
    """Both students have the text of each other and of the public answer."""
    WRITERS["html"](graded_class("Ann", "Bo"), tmp_path)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Same text (1)" in page
    assert "the text of solution.py" in page
    assert "Same text" not in (tmp_path / "class.html").read_text(encoding="utf-8")


def test_only_the_table_of_ids_has_names_for_the_markers(tmp_path: Path) -> None:
    """The markers' page has each student's whole file, without the name."""
    WRITERS["markers"](graded_class("Ann Ely", "Bob Orr"), tmp_path)
    page = (tmp_path / "markers" / "report.html").read_text(encoding="utf-8")
    assert page.count("return x + x") == 2
    for name in ("Ann", "Ely", "Bob", "Orr"):
        assert name not in page
        assert name not in (tmp_path / "markers" / "grades.csv").read_text(encoding="utf-8-sig")
    ids = table(tmp_path / "anonymous_ids.csv")
    assert [row["student"] for row in ids] == ["Ann Ely", "Bob Orr"]
    assert {row["anonymous_id"] for row in ids} == {
        row["student"] for row in table(tmp_path / "markers" / "grades.csv")
    }
