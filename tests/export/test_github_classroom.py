"""Tests of the results for GitHub Classroom."""

import base64
import json

from tests.support.class_results import (
    HOSTILE_NAMES,
    assignment,
    grade_of,
    result,
    student_grade,
)
from trainer.classroom.records import Lateness, Student
from trainer.export import github_classroom
from trainer.export.github_classroom import github_classroom_object, result_line


def test_result_line_holds_the_object_in_base64() -> None:
    """The line for $GITHUB_OUTPUT is one line of ASCII. The object has every key of the format."""
    ann = result(HOSTILE_NAMES[9], verdict="failed", failed=("values",))
    content = github_classroom_object([ann], assignment())
    line = result_line(content)
    assert line.isascii()
    assert line.startswith("result=")
    assert line.count("\n") == 1
    assert json.loads(base64.b64decode(line.removeprefix("result="), validate=False)) == content
    assert content["version"] == 1
    for test in content["tests"]:
        assert list(test) == [
            "name",
            "status",
            "message",
            "test_code",
            "filename",
            "line_no",
            "execution_time",
            "score",
        ]
    tests = {test["name"]: test for test in content["tests"]}
    runs, values = tests["runs"], tests["values"]
    assert (runs["line_no"], runs["filename"]) == (0, "")
    assert (runs["status"], runs["message"]) == ("pass", "")
    assert (values["line_no"], values["filename"]) == (34, r"\x1b[31mred\x1b[0m\x07.py")
    assert values["status"] == "fail"


def test_points_are_those_after_penalties_and_overrides() -> None:
    """The reporter adds up all entries, so one entry has the difference."""
    ann, settings = result("Ann"), assignment()
    late = Lateness(True, 1e9, 9e8, days=2, penalty=20.0)
    grade = student_grade(Student("Ann"), [grade_of(ann, lateness=late, points=80.0)], settings)
    tests = github_classroom_object([ann], settings, grade)["tests"]
    assert sum(test["score"] for test in tests) == 80
    assert tests[-1]["score"] == -20
    assert "late: 2 days, −20 points" in tests[-1]["message"]
    in_time = student_grade(Student("Ann"), [grade_of(ann)], settings)
    assert len(github_classroom_object([ann], settings, in_time)["tests"]) == len(tests) - 1


def test_no_line_of_a_message_is_a_workflow_command() -> None:
    """Text that a submission printed cannot give commands to the machine that runs the workflow."""
    text = (
        "FAILED\n::set-env name=PATH::x\n   ::warning::x\n##[group]x\nx ##[error]x\n"
        "fine :: here\n\t::add-mask::x"
    )
    ann = result("Ann", verdict="failed", failed=("values",), text=text)
    tests = github_classroom_object([ann], assignment())["tests"]
    (message,) = [test["message"] for test in tests if test["name"] == "values"]
    assert "##[" not in message
    assert not any(line.strip().startswith("::") for line in message.splitlines())
    assert "fine :: here" in message
    assert github_classroom._MOST == 100
