"""Tests of the table of formats: each format writes its files, and removes outdated ones."""

import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path

import pytest

from attn_drill.classroom.records import Gradebook, Student
from attn_drill.export.writers import WRITERS, GradedClass, junit_xml
from attn_drill.report.wording import visible
from tests.support import classroom
from tests.support.classroom import (
    EVERYONE,
    FAILED,
    SETTLE,
    assignment,
    grade_of,
    make_class,
    make_gradebook,
    result,
    student_grade,
    table,
    ungraded,
)

FILES = {
    "csv": ["grades.csv", "grades_by_challenge.csv"],
    "html": ["report.html", "class.html"],
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


@pytest.mark.parametrize("name", WRITERS)
def test_each_format_writes_its_files(name: str, tmp_path: Path) -> None:
    """Hostile names are no obstacle. The function returns the paths."""
    if name == "similar":
        pytest.importorskip("copydetect", reason="the extra `similar` is not installed")
    graded = graded_class("Ann", "Bo Lee")
    hostile = replace(graded, gradebook=make_gradebook(make_class()[:20], ONE))
    for each, folder in ((graded, tmp_path / "a"), (hostile, tmp_path / "b")):
        paths = WRITERS[name](each, folder)
        # The import files of systems need the system's export.
        files = FILES.get(name, [])
        assert [path.relative_to(folder).as_posix() for path in paths] == files
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


def test_several_submissions_of_the_same_name_are_an_error() -> None:
    """The suite has one test case with the sentence."""
    (suite,) = ElementTree.fromstring(junit_xml([ungraded()]))
    assert suite.get("name") == "bob: first"
    assert (suite.get("errors"), suite.get("failures")) == ("1", "0")
    error = suite.find("testcase/error")
    assert error.get("message") == SETTLE


def test_counts_are_those_of_the_elements() -> None:
    """Each submission is a suite, and each check is a test case."""
    root = ElementTree.fromstring(junit_xml(EVERYONE).encode())
    suites = root.findall("testsuite")
    assert [suite.get("name") for suite in suites] == [
        visible(f"{of_student.student}: first") for of_student in EVERYONE
    ]
    assert float(root.get("time", "")) == pytest.approx(
        1.25 * sum(of_student.verdict is not None for of_student in EVERYONE)
    )
    for element in (root, *suites):
        for kind, tag in (
            ("tests", "testcase"),
            ("failures", "failure"),
            ("errors", "error"),
            ("skipped", "skipped"),
        ):
            assert int(element.get(kind, "-1")) == len(list(element.iter(tag)))
    for suite, of_student in zip(suites, EVERYONE, strict=True):
        assert float(suite.get("time", "-1")) == (0 if of_student.verdict is None else 1.25)
        is_green = suite.get("failures") == "0" and suite.get("errors") == "0"
        assert is_green == (of_student.verdict == "passed")
        if of_student.verdict is not None:
            names = [case.get("name") for case in suite.findall("testcase")]
            assert names == list(of_student.statuses())
            assert suite.findtext("system-out") == visible(of_student.text, lines=True)


def test_failure_has_the_messages_of_all_cases() -> None:
    """The first message is the attribute, and all messages are the text."""
    suite = ElementTree.fromstring(junit_xml([FAILED]))[0]
    cases = {case.get("name"): case for case in suite.findall("testcase")}
    failure = cases["values"].find("failure")
    assert (
        failure.get("message")
        == "padding mask: 300 of 672 values of out differ (45%); the inputs are SECRET-INPUT"
    )
    assert (failure.text or "").splitlines()[1].startswith("causal: ")
    skipped = cases["gradients"].find("skipped")
    assert skipped.get("message") == "incomplete"
    assert not list(cases["shapes"])


def test_submission_that_did_not_pass_has_a_failed_test() -> None:
    """If no check failed, the verdict is a failed test."""
    nothing_failed = classroom.result("Ann", verdict="failed", skipped=("values",))
    root = ElementTree.fromstring(junit_xml([nothing_failed]))
    assert root.get("failures") == "1"
    assert root.find("testsuite/testcase[@name='verdict']/failure") is not None
