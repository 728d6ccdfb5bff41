"""Tests of the points of a result."""

import math
import re
from collections.abc import Mapping
from random import Random

import pytest

from attn_drill.classroom.gradebook import check_points, score, total
from attn_drill.classroom.records import AssignedChallenge, Assignment
from attn_drill.model.challenge import Mistake
from attn_drill.model.checks import CHECK_ORDER, WEIGHTS, Verdict
from attn_drill.model.report import Diagnosis, Outcome, Report
from tests.support.paths import ROOT

# The checks of a challenge that has all of them, all right. Their default weights are 0.2 + 0.2 + 4
# + 3 + 2 + 1 + 1 + 1 + 1 + 1 + 1 = 15.4.
ALL = dict.fromkeys(CHECK_ORDER, 1.0)
NO_SCALE = Diagnosis(mistakes=(Mistake("no-scale", "", "", "", ""),), is_only_mistake=True)


def report(
    shares: Mapping[str, float], verdict: Verdict = "failed", diagnosis: Diagnosis | None = None
) -> Report:
    """Return a report with these shares of its checks."""
    outcomes = tuple(
        Outcome(check, "passed" if share == 1 else "failed") for check, share in shares.items()
    )
    return Report("gqa", "gqa.py", 1, verdict, outcomes, shares=shares, diagnosis=diagnosis)


def points(
    shares: Mapping[str, float],
    weights: Mapping[str, float] | None = None,
    verdict: Verdict = "failed",
    diagnosis: Diagnosis | None = None,
    one_mistake: float = 0.0,
) -> float:
    """Return the points of a report."""
    assigned = AssignedChallenge("gqa", weights or {})
    assignment = Assignment("x", (assigned,), one_mistake=one_mistake)
    return score(report(shares, verdict, diagnosis), assigned, assignment)


@pytest.mark.parametrize(
    ("shares", "expected"),
    [
        pytest.param(ALL, 100.0, id="everything"),
        pytest.param(ALL | {"masks": 0.0}, 80.5, id="12.4 of 15.4"),
        pytest.param(ALL | {"masks": 0.5}, 90.3, id="13.9 of 15.4: half of the cases with masks"),
        pytest.param(ALL | {"values": 0.5}, 72.7, id="2 lost, and half of 4.4 that need values"),
        pytest.param(ALL | {"values": 0.0}, 45.5, id="7 of 15.4"),
        pytest.param({"values": 1.0, "masks": 0.0}, 57.1, id="4 of 7: the due checks count"),
        pytest.param({"loads": 1.0, "values": 0.0}, 0.0, id="loading brings nothing"),
        pytest.param({"values": 1.0, "from scratch": 0.0}, 100.0, id="a check without weight"),
        pytest.param({"masks": 0.5, "shapes": 1.0}, 53.1, id="1.7 of 3.2: no check of values"),
        pytest.param({"loads": 1.0}, 0.0, id="no due check has a weight"),
        pytest.param({}, 0.0, id="no check is due"),
    ],
)
def test_default_weights(shares: dict[str, float], expected: float) -> None:
    """The expected points were computed by hand."""
    assert points(shares) == expected


def test_default_weights_are_those_of_the_documentation() -> None:
    """All other checks bring nothing."""
    text = (ROOT / "docs" / "classroom.md").read_text(encoding="utf-8").split("## Points")[1]
    weights = {}
    for checks, weight in re.findall(r"^\| (`.*`) \| ([\d.]+)", text, re.MULTILINE):
        weights |= dict.fromkeys(re.findall(r"`(.+?)`", checks), float(weight))
    assert {check: weight for check, weight in WEIGHTS.items() if weight} == weights


@pytest.mark.parametrize(
    "check", ["loads", "runs", "shapes", "dtype", "bad sizes", "vectorised", "memory", "work"]
)
def test_check_that_looks_at_no_values_needs_right_values(check: str) -> None:
    """An answer with wrong values that is fast is still wrong, also with another weight."""
    assert points({"values": 0.0, check: 1.0}, {check: 100.0}) == 0.0
    assert points({"values": 0.5, check: 1.0}, {"values": 1.0, check: 1.0}) == 50.0


@pytest.mark.parametrize(
    ("weights", "shares", "expected"),
    [
        pytest.param({"values": 1}, {"values": 1.0, "masks": 0.0}, 25.0, id="masks keep 3"),
        pytest.param(
            {"masks": 0}, {"values": 1.0, "masks": 0.0}, 100.0, id="a check that costs nothing"
        ),
        pytest.param({"from scratch": 4}, {"values": 1.0, "from scratch": 0.0}, 50.0, id="new"),
        pytest.param({"values": 0}, {"values": 1.0}, 0.0, id="no weights"),
    ],
)
def test_changed_weights(
    weights: dict[str, float], shares: dict[str, float], expected: float
) -> None:
    """The other checks keep their default weights."""
    assert points(shares, weights) == expected


def test_verdict_can_decide_alone() -> None:
    """A pass always gives 100 points, and library attention gives 0."""
    assert points(ALL, verdict="not-allowed") == 0.0
    assert points({"values": 1.0}, {"values": 0.0}, "passed") == 100.0
    assert points({"values": 0.5}, verdict="timeout") == 50.0


@pytest.mark.parametrize(
    ("shares", "diagnosis", "expected"),
    [
        pytest.param({"values": 0.1}, NO_SCALE, 60.0, id="the only mistake"),
        pytest.param({"values": 0.9}, NO_SCALE, 90.0, id="more points from the checks"),
        pytest.param({"values": 0.1}, None, 10.0, id="no mistake is named"),
        pytest.param(
            {"values": 0.1}, Diagnosis(mistakes=NO_SCALE.mistakes), 10.0, id="it is not proved"
        ),
    ],
)
def test_answer_with_one_mistake_has_at_least_the_points_for_it(
    shares: dict[str, float], diagnosis: Diagnosis | None, expected: float
) -> None:
    """The assignment gives 60 points to an answer that one known mistake explains completely."""
    assert points(shares, diagnosis=diagnosis, one_mistake=60.0) == expected
    assert points(shares, diagnosis=diagnosis) == 100 * shares["values"]


def test_each_check_shows_its_points() -> None:
    """By hand: of 5.2 shares, values bring 4, bad sizes 1 and shapes 0.2."""
    shares = {"loads": 1.0, "shapes": 1.0, "values": 0.5, "bad sizes": 1.0}
    parts = check_points(report(shares), AssignedChallenge("gqa"))
    assert [(part.check, part.status, round(part.points, 1)) for part in parts] == [
        ("loads", "passed", 0.0),
        ("shapes", "passed", 1.9),
        ("values", "failed", 38.5),
        ("bad sizes", "passed", 9.6),
    ]


def test_score_stays_between_0_and_100() -> None:
    """For random shares and weights.

    The shares of all points sum to 1 or 0. The score never falls if another check is right.
    """
    random = Random(3)
    for _ in range(300):
        due = random.sample(CHECK_ORDER, random.randrange(1, len(CHECK_ORDER)))
        weights = {
            check: random.choice((0.0, 1.0, random.random() * 10))
            for check in random.sample(CHECK_ORDER, random.randrange(len(CHECK_ORDER)))
        }
        shares = {check: random.choice((0.0, random.random(), 1.0)) for check in due}
        parts = check_points(report(shares), AssignedChallenge("gqa", weights))
        whole = math.fsum(part.share for part in parts)
        assert whole == 0 or math.isclose(whole, 1)
        before = points(shares, weights)
        assert 0 <= before <= 100
        assert points({**shares, due[0]: 1.0}, weights) >= before


@pytest.mark.parametrize(
    ("by_challenge", "expected"),
    [
        pytest.param({"gqa": 100.0, "mha": 100.0}, 100.0, id="everything"),
        pytest.param({"gqa": 50.0, "mha": 0.0}, 33.3, id="worth 2 of 3"),
        pytest.param({"gqa": 0.0, "mha": 50.0}, 16.7, id="worth 1 of 3"),
        pytest.param({"gqa": 100.0, "mha": None}, None, id="the grader failed"),
        pytest.param({"gqa": 100.0}, None, id="not graded yet"),
        pytest.param(
            {"gqa": 50.0, "mha": 0.0, "sdpa": 100.0}, 33.3, id="other challenges do not count"
        ),
        pytest.param({"gqa": 0.0, "mha": 0.0}, 0.0, id="a total of 0"),
    ],
)
def test_total_is_weighted_by_worth(
    by_challenge: dict[str, float | None], expected: float | None
) -> None:
    """The total is None only if a challenge has no score."""
    challenges = (AssignedChallenge("gqa", worth=2.0), AssignedChallenge("mha"))
    assert total(by_challenge, Assignment("x", challenges)) == expected
