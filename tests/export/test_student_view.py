"""Tests of the results that students see: nothing reveals a hidden case, and all points add up."""

import json
import xml.etree.ElementTree as ElementTree

import pytest

from tests.support.class_outputs import FAILED, SHOWN
from tests.support.class_results import (
    CHECKS,
    NO_SCALE,
    TWICE,
    assignment,
    grade_of,
    outcome,
    result,
    student_grade,
    ungraded,
)
from trainer.classroom.records import (
    AssignedChallenge,
    Assignment,
    Lateness,
    Override,
    Student,
    StudentResult,
)
from trainer.export.github_classroom import github_classroom_object
from trainer.export.gradescope import gradescope_object
from trainer.export.junit import junit_xml
from trainer.export.student_view import apportioned
from trainer.model.checks import CHECK_ORDER
from trainer.report.visible import visible

NOT_READ = result(
    "Ann",
    verdict="error",
    outcomes=(),
    diagnosis=None,
    score=0.0,
    text="ERROR  there is no file first.py",
)
NEVER_RAN = result(
    "Ann",
    verdict="error",
    seed=None,
    outcomes=(outcome("loads", "failed", message="there is no first.py"),),
    diagnosis=None,
    score=0.0,
    text="",
)
# A skipped check is neither a failure nor a pass.
NOTHING_FAILED = result("Ann", verdict="failed", skipped=("values",))


@pytest.mark.parametrize("challenges", [("first",), ("first", "second")])
@pytest.mark.parametrize("shown", ["report", "checks", "verdict"])
def test_several_submissions_of_the_same_name_bring_no_points(
    shown: str, challenges: tuple[str, ...]
) -> None:
    """The student's message has no points, no file names and no commands."""
    settings = assignment(challenges, shown=shown)
    results = [
        ungraded(challenge=challenges[0]),
        *(result("bob", challenge) for challenge in challenges[1:]),
    ]
    for_gradescope, for_github = (
        gradescope_object(results, settings),
        github_classroom_object(results, settings),
    )
    assert "score" not in for_gradescope
    message = "more than one submission has this name. Tell your teacher."
    assert message in for_gradescope["output"]
    assert (for_github["status"], for_github["max_score"]) == ("error", 0)
    assert not any(test["score"] for test in for_github["tests"])
    text = json.dumps([for_gradescope, for_github])
    assert not any(word in text for word in (*TWICE[1:], "--resume"))


@pytest.mark.parametrize("result", [NOT_READ, NOTHING_FAILED], ids=["not read", "nothing failed"])
def test_submission_that_did_not_pass_has_a_failed_test(result: StudentResult) -> None:
    """If no check failed, JUnit, Gradescope and GitHub get the verdict as a failed test."""
    root = ElementTree.fromstring(junit_xml([result]))
    assert root.get("failures") == "1"
    for shown in ("report", "checks"):
        settings = assignment(shown=shown)
        tests = gradescope_object([result], settings)["tests"]
        assert [test["name"] for test in tests if test["status"] == "failed"][-1] == "verdict"
        assert github_classroom_object([result], settings)["status"] == "fail"


def as_written(student_result: StudentResult, **more: object) -> list[str]:
    """Return the texts that Gradescope and GitHub Classroom get."""
    settings = assignment(**more)
    return [
        json.dumps(to_object([student_result], settings), allow_nan=False, ensure_ascii=False)
        for to_object in (gradescope_object, github_classroom_object)
    ]


@pytest.mark.parametrize("shown", ["checks", "verdict"])
def test_nothing_reveals_a_hidden_case(shown: str) -> None:
    """Students see no message, print, seed, time, digest, line, excerpt or likely mistake.

    If they may see only the verdict, they see no check either.
    """
    for student_result in (
        FAILED,
        result("Ann", verdict=None),
        NOT_READ,
        result("Ann", verdict="timeout", failed=("runs",)),
        result("Ann", verdict="error", failed=("loads",)),
    ):
        for text in as_written(student_result, shown=shown):
            for secret in (
                "SECRET",
                "differ",
                "padding",
                "123456",
                "digest",
                "1.25",
                "1.2",
                "34",
                "no-scale",
                "sqrt",
                "tiled",
                "q @ k",
                "disk",
                "no file",
                "stops",
            ):
                assert secret not in text
            assert shown == "checks" or not any(f'"{check}"' in text for check in CHECK_ORDER)
    verdict = gradescope_object([FAILED], assignment(shown="verdict"))
    assert verdict == {
        "score": 14.9,
        "output": "first: failed",
        "output_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
    }


@pytest.mark.parametrize("shown", SHOWN)
def test_student_sees_why_a_file_could_not_be_read(shown: str) -> None:
    """The file was never run, so the reason cannot reveal a case. The student needs the reason."""
    for text in as_written(NEVER_RAN, shown=shown):
        assert "there is no first.py" in text


@pytest.mark.parametrize("shown", SHOWN)
def test_student_sees_why_a_file_does_not_load(shown: str) -> None:
    """The words for the student cannot reveal a case. The message could."""
    words = "NameError: name 'nm' is not defined at line 3"
    ann = result("Ann", verdict="error", failed=("loads",), skipped=CHECKS[1:], load_words=words)
    for text in as_written(ann, shown=shown):
        assert shown == "report" or words in text
        assert ("stops" in text) <= (shown == "report")


@pytest.mark.parametrize("shown", SHOWN)
def test_failure_of_the_grader_gives_the_student_no_command(shown: str) -> None:
    """The sentence about the failure is for the teacher, and may name a command."""
    broken = result("Ann", verdict=None, error="Run `attn-drill doctor`.")
    for text in as_written(broken, shown=shown):
        assert "doctor" not in text
        assert "not your fault" in text


def test_pass_without_points_has_its_reason() -> None:
    """Checks that passed bring no points if the values are wrong. Gradescope shows the reason."""
    tests = {test["name"]: test for test in gradescope_object([FAILED], assignment())["tests"]}
    vectorised = tests["vectorised"]
    assert (vectorised["status"], vectorised["score"]) == ("passed", 0)
    assert vectorised["output"] == "passed, but only 0% of values are right"


@pytest.mark.parametrize("shown", SHOWN)
def test_output_has_the_table_of_points_unless_only_the_verdict_is_shown(shown: str) -> None:
    """The table has every check that can bring points, and the sum."""
    output = gradescope_object([FAILED], assignment(shown=shown))["output"]
    assert ("all checks" in output) == (shown != "verdict")


def test_penalty_and_override_decide_the_score() -> None:
    """The output has the due time, the penalty, and the decision with its comment."""
    settings = assignment()
    late = Lateness(True, 1e9, 9e8, days=2, penalty=20.0)
    ann = result("Ann")
    decided = Override("Ann", "", 85.0, "Well told.")
    for override, score in ((None, 80.0), (decided, 85.0)):
        grades = [grade_of(ann, lateness=late, points=80.0)]
        grade = student_grade(Student("Ann"), grades, settings, override)
        content = gradescope_object([ann], settings, grade)
        assert content["score"] == score
        assert "late: 2 days, −20 points" in content["output"]
        assert ("override: 85 points. Well told." in content["output"]) == (override is not None)


@pytest.mark.parametrize("why", [True, False])
def test_student_sees_the_whole_report_if_allowed(why: bool) -> None:
    """The first failure has the text of the report.

    Gradescope shows the likely mistake if the teacher allows it.
    """
    for_gradescope, for_github = as_written(FAILED, shown="report", why=why)
    for text in (for_gradescope, for_github):
        assert "seed 123456" in text
        assert "300 of 672" in text
        assert "no-scale" not in text
    assert (NO_SCALE.says in for_gradescope) == why
    tests = {test["name"]: test for test in gradescope_object([FAILED], assignment())["tests"]}
    assert tests["values"]["output"] == visible(FAILED.text, lines=True)
    assert [line[:19] for line in tests["masks"]["output"].splitlines()] == [
        "padding mask: 300 o",
        "causal: 300 of 672 ",
    ]
    assert tests["gradients"]["output"].startswith("incomplete")
    assert tests["train/eval"]["output"] == ""


@pytest.mark.parametrize(
    "ann", [NOT_READ, NOTHING_FAILED, result("Ann")], ids=["not read", "nothing failed", "passed"]
)
def test_verdict_has_the_points_without_a_check(ann: StudentResult) -> None:
    """If all weights are 0 or there are no checks, the maximum is still 100 points."""
    without = dict.fromkeys(CHECK_ORDER, 0.0)
    settings = Assignment("x", (AssignedChallenge("first", without),))
    tests = gradescope_object([ann], settings)["tests"]
    assert sum(test["max_score"] for test in tests) == pytest.approx(100)
    assert sum(test["score"] for test in tests) == pytest.approx(ann.score or 0.0, abs=0.01)


@pytest.mark.parametrize(
    "weights", [[1.0] * 3, [1.0, 2.0, 0.0], [1e308, 1e308], [0.1] * 11, [5e-324, 1.0], [1.0]]
)
@pytest.mark.parametrize("units", [100, 10_000, 7, 0])
def test_all_units_are_divided(weights: list[float], units: int) -> None:
    """Each share differs by less than one unit from its exact part. Without a weight, it is 0."""
    shares = apportioned(dict(enumerate(weights)), units)
    assert sum(shares.values()) == units
    whole = sum(weight / max(weights) for weight in weights)
    for key, weight in enumerate(weights):
        exact = units * (weight / max(weights)) / whole
        assert abs(shares[key] - exact) < 1
        assert weight or not shares[key]
