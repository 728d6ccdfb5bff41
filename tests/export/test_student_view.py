"""What a class's results are written as: nothing of a student acts, nothing that is to stay hidden is told, and the sums are right."""

import json
import xml.etree.ElementTree as ElementTree

import pytest

from tests.support.class_outputs import FAILED, SHOWN
from tests.support.class_results import (
    NO_SCALE,
    TWICE,
    assignment,
    outcome,
    result,
    unsettled,
)
from trainer.classroom.records import AssignedChallenge, Assignment, StudentResult
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


# What was skipped leaves no failure behind, and is no pass either.
NOTHING_FAILED = result("Ann", verdict="failed", skipped=("values",))


@pytest.mark.parametrize("challenges", [("first",), ("first", "second")])
@pytest.mark.parametrize("shown", ["report", "checks", "verdict"])
def test_several_submissions_of_one_name_bring_no_points_on_platforms(
    shown: str, challenges: tuple[str, ...]
) -> None:
    """The student is told to ask; neither points nor file names nor commands are handed on."""
    asked = assignment(challenges, shown=shown)
    results = [
        unsettled(challenge=challenges[0]),
        *(result("bob", challenge) for challenge in challenges[1:]),
    ]
    for_gradescope, for_github = (
        gradescope_object(results, asked),
        github_classroom_object(results, asked),
    )
    assert "score" not in for_gradescope
    assert (
        "more than one submission came under this name. Tell your teacher."
        in for_gradescope["output"]
    )
    assert (for_github["status"], for_github["max_score"]) == ("error", 0)
    assert not any(test["score"] for test in for_github["tests"])
    told = json.dumps([for_gradescope, for_github])
    assert not any(word in told for word in (*TWICE[1:], "--resume"))


@pytest.mark.parametrize("one", [NOT_READ, NOTHING_FAILED], ids=["not read", "nothing failed"])
def test_what_did_not_pass_is_never_all_green(one: StudentResult) -> None:
    """Where no check says so, the verdict does: in JUnit, for Gradescope and for GitHub Classroom."""
    root = ElementTree.fromstring(junit_xml([one]))
    assert root.get("failures") == "1"
    for shown in ("report", "checks"):
        tests = gradescope_object([one], assignment(shown=shown))["tests"]
        assert [test["name"] for test in tests if test["status"] == "failed"][-1] == "verdict"
        assert github_classroom_object([one], assignment(shown=shown))["status"] == "fail"


def as_written(one: StudentResult, **more: object) -> list[str]:
    """What both platforms are given, as text."""
    asked = assignment(**more)
    return [
        json.dumps(made([one], asked), allow_nan=False, ensure_ascii=False)
        for made in (gradescope_object, github_classroom_object)
    ]


@pytest.mark.parametrize("shown", ["checks", "verdict"])
def test_nothing_that_gives_a_case_away_is_told(shown: str) -> None:
    """No message, print, seed, time, digest, line, excerpt or likely mistake, and with the verdict alone no check."""
    for one in (
        FAILED,
        result("Ann", verdict=None),
        NOT_READ,
        result("Ann", verdict="timeout", failed=("runs",)),
        result("Ann", verdict="error", failed=("loads",)),
    ):
        for text in as_written(one, shown=shown):
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
        "score": 70.0,
        "output": "first: failed",
        "output_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
    }


@pytest.mark.parametrize("shown", SHOWN)
def test_why_a_file_could_not_be_read_is_always_told(shown: str) -> None:
    """It was never run: nothing of a case can be in the reason, and without it nobody would know what to hand in."""
    for text in as_written(NEVER_RAN, shown=shown):
        assert "there is no first.py" in text


@pytest.mark.parametrize("why", [True, False])
def test_the_whole_report_is_told_where_it_may_be(why: bool) -> None:
    """With its text where the first failure is; the likely mistake only if the teacher says so."""
    for text in as_written(FAILED, shown="report", why=why):
        assert "seed 123456" in text
        assert "300 of 672" in text
        assert (
            NO_SCALE.says in text
        ) == why or "version" in text  # GitHub's message is the check's own
        assert ("no-scale" in text) is False
    tests = {one["name"]: one for one in gradescope_object([FAILED], assignment())["tests"]}
    assert tests["values"]["output"] == visible(FAILED.text, lines=True)
    assert [line[:19] for line in tests["masks"]["output"].splitlines()] == [
        "padding mask: 300 o",
        "causal: 300 of 672 ",
    ]
    assert tests["gradients"]["output"].startswith("not made")
    assert tests["shapes"]["output"] == ""


@pytest.mark.parametrize(
    "one", [NOT_READ, NOTHING_FAILED, result("Ann")], ids=["not read", "nothing failed", "passed"]
)
def test_the_verdict_takes_the_points_that_no_check_has(one: StudentResult) -> None:
    """All weights nought, or no checks at all: the maximum is still 100."""
    asked = Assignment("x", (AssignedChallenge("first", {}),))
    tests = gradescope_object([one], asked)["tests"]
    assert sum(test["max_score"] for test in tests) == pytest.approx(100)
    assert sum(test["score"] for test in tests) == pytest.approx(one.score or 0.0, abs=0.01)


@pytest.mark.parametrize(
    "weights", [[1.0] * 3, [1.0, 2.0, 0.0], [1e308, 1e308], [0.1] * 11, [5e-324, 1.0], [1.0]]
)
@pytest.mark.parametrize("units", [100, 10_000, 7, 0])
def test_units_are_shared_out_to_the_last(weights: list[float], units: int) -> None:
    """They sum exactly, none is further than one from its part, and no weight is no unit."""
    found = apportioned(dict(enumerate(weights)), units)
    assert sum(found.values()) == units
    for key, weight in enumerate(weights):
        assert (
            abs(
                found[key]
                - units * (weight / max(weights)) / sum(one / max(weights) for one in weights)
            )
            < 1
        )
        assert weight or not found[key]
