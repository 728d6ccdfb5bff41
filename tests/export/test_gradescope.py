"""Tests of the results for Gradescope: the keys of its documentation, and points that add up."""

import json
from collections import Counter
from typing import Any

import pytest

from attn_drill.classroom.records import (
    AssignedChallenge,
    Assignment,
    Lateness,
    Override,
    Student,
    StudentResult,
)
from attn_drill.export.feedback import gradescope_object
from attn_drill.model.checks import CHECK_ORDER
from tests.support.classroom import (
    EVERYONE,
    FAILED,
    SHOWN,
    assignment,
    grade_of,
    make_gradebook,
    result,
    student_grade,
    ungraded,
)


def content_of(results: list[StudentResult], settings: Assignment) -> dict[str, Any]:
    """Return the object of a student without penalties and overrides."""
    (grade,) = make_gradebook(results, settings).rows
    return gradescope_object(grade, settings)


@pytest.mark.parametrize("shown", SHOWN)
def test_points_of_all_checks_add_up(shown: str) -> None:
    """The points sum to the score exactly, and the maxima to 100. Each due check has an entry."""
    settings = assignment(shown=shown)
    for found in EVERYONE[::5]:
        content = content_of([found], settings)
        if found.verdict is None:
            assert "score" not in json.dumps(content)
        else:
            assert content["score"] == found.score
        if found.verdict is None or shown == "verdict":
            assert "tests" not in content
            continue
        tests = content["tests"]
        assert round(sum(test["max_score"] for test in tests), 6) == 100
        assert round(sum(test["score"] for test in tests), 6) == found.score
        assert {test["name"]: test["status"] for test in tests} == {
            name: "passed" if status == "passed" else "failed"
            for name, status in found.statuses().items()
        }


def test_points_follow_from_weights_and_worth() -> None:
    """The worth divides 100 points among the challenges, and the weights divide them further."""
    weights = dict.fromkeys(CHECK_ORDER, 0.0) | {"values": 3.0, "masks": 1.0}
    settings = Assignment(
        "x", (AssignedChallenge("first", weights, 1.0), AssignedChallenge("second", weights, 2.0))
    )
    results = [
        result("Ann", challenge, "failed", failed=("masks",), weights=weights)
        for challenge in ("first", "second")
    ]
    content = content_of(results, settings)
    points = {
        test["name"]: (test["score"], test["max_score"])
        for test in content["tests"]
        if test["max_score"]
    }
    assert points == {
        "first: values": (25.0, 25.0),
        "first: masks": (0, 8.33),
        "second: values": (50.0, 50.0),
        "second: masks": (0, 16.67),
    }
    assert content["score"] == 75


def test_points_of_several_challenges_add_up() -> None:
    """Up to the rounding of each check. One of them may bring more than its checks."""
    settings = assignment(("first", "second"))
    results = [
        result("Ann", challenge, "failed", failed=("masks", "gradients"), skipped=("properties",))
        for challenge in settings.challenge_ids
    ]
    content = content_of(results, settings)
    total = sum(test["score"] for test in content["tests"])
    assert total == pytest.approx(content["score"], abs=0.1)
    assert sum(test["max_score"] for test in content["tests"]) == pytest.approx(100, abs=0.1)
    least = result("Ann", verdict="failed", failed=("values",), score=60.0)
    content = content_of([least], assignment())
    assert round(sum(test["score"] for test in content["tests"]), 6) == content["score"] == 60


def test_library_attention_brings_no_points() -> None:
    """Passed checks keep their status, but bring no points."""
    content = content_of(
        [result("Ann", verdict="not-allowed", failed=("from scratch",))], assignment()
    )
    assert content["score"] == 0
    assert {test["score"] for test in content["tests"]} == {0}
    assert Counter(test["status"] for test in content["tests"]) == {"passed": 13, "failed": 1}
    assert "from scratch" in content["output"]


@pytest.mark.parametrize("other", [None, result("Ann", "second", None), ungraded("Ann", "second")])
def test_no_score_if_a_challenge_has_no_points(other: StudentResult | None) -> None:
    """Nothing is 0 that a person must settle. The output names no command and no file."""
    content = content_of(
        [result("Ann"), *([other] if other else [])], assignment(("first", "second"))
    )
    assert "score" not in json.dumps(content)
    assert "tests" not in content
    assert "teacher" in content["output"].split("second: ")[1]
    assert "--resume" not in content["output"]


def test_penalty_and_override_decide_the_score() -> None:
    """The output has the due time, the penalty, and the decision with its comment."""
    settings = assignment()
    late = Lateness(True, 1e9, 9e8, days=2, penalty=20.0)
    decided = Override("Ann", "", 85.0, "Well told.")
    for override, score in ((None, 80.0), (decided, 85.0)):
        grades = [grade_of(result("Ann"), lateness=late, points=80.0)]
        grade = student_grade(Student("Ann"), grades, settings, override)
        content = gradescope_object(grade, settings)
        assert content["score"] == score
        assert "late: 2 days, −20 points" in content["output"]
        assert ("override: 85 points. Well told." in content["output"]) == (override is not None)


@pytest.mark.parametrize("shown", SHOWN)
def test_output_shows_what_students_may_see(shown: str) -> None:
    """The table needs more than the verdict; messages and report need the whole report."""
    content = content_of([FAILED], assignment(shown=shown))
    assert ("all checks" in content["output"]) == (shown != "verdict")
    assert ("seed 123456" in content["output"]) == (shown == "report")
    assert ("execution_time" in content) == (shown == "report")
    tests = {test["name"]: test["output"] for test in content.get("tests", ())}
    if shown == "report":
        assert [line[:19] for line in tests["masks"].splitlines()] == [
            "padding mask: 300 o",
            "causal: 300 of 672 ",
        ]
    if shown != "verdict":
        assert tests["gradients"].startswith("incomplete")
        assert tests["vectorised"] == "passed, but only 0% of values are right"
        assert tests["train/eval"] == tests["loads"] == ""
    else:
        assert content == {
            "score": 14.9,
            "output": "first: failed",
            "output_format": "text",
            "visibility": "visible",
            "stdout_visibility": "hidden",
        }
