"""What a class's results are written as: nothing of a student acts, nothing that is to stay hidden is told, and the sums are right."""

import json
from collections import Counter

import pytest

from tests.support.class_outputs import EVERYONE, SHOWN
from tests.support.class_results import (
    assignment,
    result,
)
from trainer.classroom.records import AssignedChallenge, Assignment, StudentResult
from trainer.export.github_classroom import github_classroom_object
from trainer.export.gradescope import gradescope_object
from trainer.model.checks import CHECK_ORDER
from trainer.report.visible import visible


@pytest.mark.parametrize("one", EVERYONE[::5], ids=lambda one: visible(one.student)[:20])
@pytest.mark.parametrize("shown", SHOWN)
def test_points_sum_to_a_hundred(one: StudentResult, shown: str) -> None:
    """All checks are worth 100 together, and those that passed the score."""
    asked = assignment(shown=shown)
    found = gradescope_object([one], asked)
    github = github_classroom_object([one], asked)
    if one.verdict is None:
        assert "score" not in json.dumps(found)
        assert (
            github["status"],
            github["max_score"],
            [test["score"] for test in github["tests"]],
        ) == ("error", 0, [0])
        return
    assert found["score"] == pytest.approx(one.score, abs=0.06)
    assert github["max_score"] == 100
    assert all(isinstance(test["score"], int) for test in github["tests"])
    assert sum(test["score"] for test in github["tests"]) == pytest.approx(one.score, abs=5)
    assert github["status"] == ("pass" if one.verdict == "passed" else "fail")
    if shown == "verdict":
        assert "tests" not in found
    else:
        assert sum(test["max_score"] for test in found["tests"]) == pytest.approx(100)
        assert sum(test["score"] for test in found["tests"]) == pytest.approx(one.score, abs=0.1)
        assert {test["name"]: test["status"] for test in found["tests"]} == {
            name: "passed" if status == "passed" else "failed"
            for name, status in one.statuses().items()
        }


def test_library_attention_counts_nothing() -> None:
    """Checks that passed keep their status, and bring no points."""
    one = result("Ann", verdict="not-allowed", failed=("from scratch",))
    found = gradescope_object([one], assignment())
    assert found["score"] == 0
    assert {test["score"] for test in found["tests"]} == {0}
    assert Counter(test["status"] for test in found["tests"]) == {"passed": 13, "failed": 1}
    assert "from scratch" in found["output"]


def test_weights_and_worth_make_the_points() -> None:
    """A check's points are its weight's part of its challenge's part of 100."""
    weights = dict.fromkeys(CHECK_ORDER, 0.0) | {"values": 3.0, "masks": 1.0}
    asked = Assignment(
        "x", (AssignedChallenge("first", weights, 1.0), AssignedChallenge("second", weights, 2.0))
    )
    results = [
        result("Ann", one, "failed", failed=("masks",), weights=weights)
        for one in ("first", "second")
    ]
    found = gradescope_object(results, asked)
    worth = {
        test["name"]: (test["score"], test["max_score"])
        for test in found["tests"]
        if test["max_score"]
    }
    assert worth == {
        "first: values": (25.0, 25.0),
        "first: masks": (0, 8.33),
        "second: values": (50.0, 50.0),
        "second: masks": (0, 16.67),
    }
    assert found["score"] == 75
    github = github_classroom_object(results, asked)
    assert [(one["name"], one["score"]) for one in github["tests"] if one["score"]] == [
        ("first: values", 25),
        ("second: values", 50),
    ]


def test_a_part_that_could_not_be_graded_leaves_no_score() -> None:
    """Neither a failed grading nor a missing result is a 0: nothing in the file is a score."""
    asked = assignment(("first", "second"))
    for others in ([], [result("Ann", "second", None)]):
        found = gradescope_object([result("Ann"), *others], asked)
        assert "score" not in json.dumps(found)
        assert "second: This could not be graded" in found["output"]
        github = github_classroom_object([result("Ann"), *others], asked)
        assert (
            github["status"],
            github["max_score"],
            sum(one["score"] for one in github["tests"]),
        ) == ("error", 0, 0)
