"""Tests of the results for Gradescope, and of the same points for GitHub Classroom."""

import json
from collections import Counter

import pytest

from tests.support.class_outputs import EVERYONE, SHOWN
from tests.support.class_results import assignment, result
from trainer.classroom.records import AssignedChallenge, Assignment, StudentResult
from trainer.export.github_classroom import github_classroom_object
from trainer.export.gradescope import gradescope_object
from trainer.model.checks import CHECK_ORDER
from trainer.report.visible import visible


@pytest.mark.parametrize("result", EVERYONE[::5], ids=lambda result: visible(result.student)[:20])
@pytest.mark.parametrize("shown", SHOWN)
def test_points_of_all_checks_sum_to_100(result: StudentResult, shown: str) -> None:
    """The points of the passed checks sum to the score."""
    settings = assignment(shown=shown)
    content = gradescope_object([result], settings)
    github = github_classroom_object([result], settings)
    github_scores = [test["score"] for test in github["tests"]]
    if result.verdict is None:
        assert "score" not in json.dumps(content)
        assert (github["status"], github["max_score"], github_scores) == ("error", 0, [0])
        return
    assert content["score"] == pytest.approx(result.score, abs=0.06)
    assert github["max_score"] == 100
    assert all(isinstance(score, int) for score in github_scores)
    assert sum(github_scores) == pytest.approx(result.score, abs=5)
    assert github["status"] == ("pass" if result.verdict == "passed" else "fail")
    if shown == "verdict":
        assert "tests" not in content
        return
    tests = content["tests"]
    assert sum(test["max_score"] for test in tests) == pytest.approx(100)
    assert sum(test["score"] for test in tests) == pytest.approx(result.score, abs=0.1)
    assert {test["name"]: test["status"] for test in tests} == {
        name: "passed" if status == "passed" else "failed"
        for name, status in result.statuses().items()
    }


def test_library_attention_brings_no_points() -> None:
    """Passed checks keep their status, but bring no points."""
    ann = result("Ann", verdict="not-allowed", failed=("from scratch",))
    content = gradescope_object([ann], assignment())
    assert content["score"] == 0
    assert {test["score"] for test in content["tests"]} == {0}
    assert Counter(test["status"] for test in content["tests"]) == {"passed": 13, "failed": 1}
    assert "from scratch" in content["output"]


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
    content = gradescope_object(results, settings)
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
    github = github_classroom_object(results, settings)
    assert [(test["name"], test["score"]) for test in github["tests"] if test["score"]] == [
        ("first: values", 25),
        ("second: values", 50),
    ]


def test_no_score_if_a_challenge_was_not_graded() -> None:
    """After a failed grading or with a missing result, the file has no score."""
    settings = assignment(("first", "second"))
    for others in ([], [result("Ann", "second", None)]):
        content = gradescope_object([result("Ann"), *others], settings)
        assert "score" not in json.dumps(content)
        assert "second: This could not be graded" in content["output"]
        github = github_classroom_object([result("Ann"), *others], settings)
        assert (github["status"], github["max_score"]) == ("error", 0)
        assert sum(test["score"] for test in github["tests"]) == 0
