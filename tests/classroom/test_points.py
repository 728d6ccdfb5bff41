"""Tests of the points of a result."""

import math
from random import Random

import pytest

from trainer.classroom.points import FORM, WEIGHTS, check_points, score, total
from trainer.classroom.records import AssignedChallenge, Assignment
from trainer.model.checks import CHECK_ORDER, Status, Verdict

# In the tables below, p is a check that passed, f a check that failed, and s a skipped check.
STATUS: dict[str, Status] = {"p": "passed", "f": "failed", "s": "skipped"}
# The checks of a challenge that has all of them. Their default weights are 0.5 + 0.5 + 4 + 3 + 2
# + 1 + 1 + 1 + 1 + 1 + 1 = 16.
ALL = dict.fromkeys(CHECK_ORDER, "p")


def points(
    statuses: dict[str, str], weights: dict[str, float] | None = None, verdict: Verdict = "failed"
) -> float:
    """Return the points of a result. The statuses are letters."""
    due = {check: STATUS[letter] for check, letter in statuses.items()}
    return score(due, AssignedChallenge("gqa", weights or {}), verdict)


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [
        pytest.param(ALL, 100.0, id="everything"),
        pytest.param(ALL | {"masks": "f"}, 81.2, id="13 of 16: 81.25, rounded to even"),
        pytest.param(ALL | {"work": "s"}, 93.8, id="15 of 16, skipped is not passed"),
        pytest.param(ALL | {"gradients": "f", "properties": "f"}, 81.2, id="two checks fail"),
        pytest.param(ALL | {"shapes": "f"}, 93.8, id="shapes without dtype bring nothing"),
        pytest.param(ALL | {"dtype": "f"}, 93.8, id="dtype without shapes brings nothing"),
        pytest.param(ALL | {"values": "f"}, 50.0, id="wrong values cost 4 + 4 points of 16"),
        pytest.param(
            {"values": "p", "masks": "f"}, 57.1, id="4 of 7: checks that are not due do not count"
        ),
        pytest.param({"loads": "p", "values": "f"}, 0.0, id="loading brings nothing"),
        pytest.param({"values": "p", "from scratch": "f"}, 100.0, id="a check without weight"),
        pytest.param({"loads": "p"}, 0.0, id="no due check has a weight"),
        pytest.param({}, 0.0, id="no check is due"),
    ],
)
def test_default_weights(statuses: dict[str, str], expected: float) -> None:
    """The expected points were computed by hand."""
    assert points(statuses) == expected


@pytest.mark.parametrize("check", [check for check, weight in WEIGHTS.items() if not weight])
def test_check_that_only_shows_that_a_file_runs_needs_values(check: str) -> None:
    """An assignment may give it a weight. An empty body still has no points for it."""
    weights = {check: 4.0, "values": 4.0}
    assert points({check: "p", "values": "f"}, weights) == 0.0
    assert points({check: "p", "values": "p", "masks": "f"}, weights) == 72.7  # 8 of 11


def test_default_weights_are_those_of_the_documentation() -> None:
    """All other checks bring nothing."""
    weights = {"values": 4, "masks": 3, "gradients": 2, "shapes": 0.5, "dtype": 0.5}
    weights |= dict.fromkeys(("train/eval", "properties", "bad sizes"), 1)
    weights |= dict.fromkeys(("vectorised", "memory", "work"), 1)
    assert {check: weight for check, weight in WEIGHTS.items() if weight} == weights
    assert tuple(WEIGHTS) == CHECK_ORDER


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        pytest.param({"values": "f"}, 10.0, id="1 of 5 would be 20"),
        pytest.param({"values": "f", "masks": "s", "gradients": "s"}, 10.0, id="1 of 10"),
        pytest.param(
            {"values": "f", "masks": "s", "gradients": "s", "work": "s"}, 9.1, id="1 of 11"
        ),
        pytest.param({}, 100.0, id="no other check is due"),
    ],
)
def test_zeros_of_the_right_shape_and_dtype_get_at_most_10(
    others: dict[str, str], expected: float
) -> None:
    """`return torch.zeros_like(x)` passes shapes and dtype. The shares still sum to 1."""
    statuses = {"shapes": "p", "dtype": "p"} | others
    assert points(statuses) == expected
    assert points(dict.fromkeys(statuses, "p")) == 100.0


def test_assignment_can_give_more_for_shapes() -> None:
    """The limit of 10 holds for the default weights only."""
    statuses = {"shapes": "p", "dtype": "p", "values": "f"}
    assert points(statuses, {"shapes": 4.0}) == 52.9  # 4.5 of 8.5
    assert points(statuses | {"dtype": "f"}, {"shapes": 4.0}) == 0.0


@pytest.mark.parametrize("check", ["bad sizes", "vectorised", "memory", "work"])
@pytest.mark.parametrize("values", ["f", "s"])
def test_check_needs_right_values(check: str, values: str) -> None:
    """An answer with wrong values that is fast is still wrong."""
    assert points({"values": values, check: "p"}) == 0.0
    assert points({"values": values, check: "p"}, {check: 100.0}) == 0.0
    assert points({"values": "p", check: "p"}) == 100.0


@pytest.mark.parametrize(
    ("weights", "statuses", "expected"),
    [
        pytest.param({"values": 1}, {"values": "p", "masks": "f"}, 25.0, id="masks keep 3"),
        pytest.param(
            {"masks": 0}, {"values": "p", "masks": "f"}, 100.0, id="a check that costs nothing"
        ),
        pytest.param({"from scratch": 4}, {"values": "p", "from scratch": "f"}, 50.0, id="new"),
        pytest.param({"values": 0}, {"values": "p"}, 0.0, id="no weights"),
        pytest.param(
            {"values": 1e308, "masks": 1e308, "work": 1e308},
            {"values": "p", "masks": "p", "work": "f"},
            66.7,
            id="weights whose sum is infinite",
        ),
        pytest.param(
            {"values": 5e-324, "masks": 5e-324},
            {"values": "p", "masks": "f"},
            50.0,
            id="the smallest possible weights",
        ),
        pytest.param(
            {"values": 1e308},
            {"shapes": "p", "dtype": "p", "values": "f"},
            0.0,
            id="shapes are nothing next to a huge weight",
        ),
    ],
)
def test_changed_weights(
    weights: dict[str, float], statuses: dict[str, str], expected: float
) -> None:
    """The other checks keep their default weights."""
    assert points(statuses, weights) == expected


def test_verdict_can_decide_alone() -> None:
    """A pass always gives 100 points, and library attention gives 0."""
    statuses = {"shapes": "p", "dtype": "p", "values": "p"}
    assert points(statuses, verdict="not-allowed") == 0.0
    assert points({"values": "p"}, {"values": 0.0}, "passed") == 100.0
    assert points(statuses | {"masks": "f"}, verdict="timeout") == 61.4  # 10 + 4/7 of 90


def test_each_check_shows_its_points() -> None:
    """By hand: values bring 4 of 5 shares of 90 points, bad sizes 1 of 5."""
    statuses: dict[str, Status] = {
        "loads": "passed",
        "shapes": "passed",
        "dtype": "passed",
        "values": "failed",
        "bad sizes": "passed",
    }
    parts = {
        part.check: part for part in check_points(statuses, AssignedChallenge("gqa"), "failed")
    }
    assert list(parts) == list(statuses)
    shares = {check: round(part.share, 6) for check, part in parts.items()}
    assert shares == {"loads": 0, "shapes": 0.05, "dtype": 0.05, "values": 0.72, "bad sizes": 0.18}
    assert [check for check, part in parts.items() if part.points] == ["shapes", "dtype"]
    assert {part.status for part in parts.values() if part.is_earned} == {"passed"}
    none = check_points(statuses, AssignedChallenge("gqa"), "not-allowed")
    assert not any(part.is_earned for part in none)


def test_score_stays_between_0_and_100() -> None:
    """For random statuses and weights.

    The shares sum to 1 or 0. The score never falls if another check passes.
    """
    random = Random(3)
    for _ in range(300):
        due = random.sample(CHECK_ORDER, random.randrange(1, len(CHECK_ORDER)))
        weights = {
            check: random.choice((0.0, 1.0, random.random() * 10))
            for check in random.sample(CHECK_ORDER, random.randrange(len(CHECK_ORDER)))
        }
        statuses: dict[str, Status] = {
            check: random.choice(("passed", "failed", "skipped")) for check in due
        }
        assigned = AssignedChallenge("gqa", weights)
        whole = math.fsum(part.share for part in check_points(statuses, assigned, "failed"))
        assert whole == 0 or math.isclose(whole, 1)
        before = score(statuses, assigned, "failed")
        assert 0 <= before <= 100
        assert score({**statuses, due[0]: "passed"}, assigned, "failed") >= before


def test_default_weights_give_nothing_for_loading() -> None:
    """A student who hands in the stub unchanged gets 0 points.

    The stub loads, has the right interface and does not call a library.
    """
    passed = ("loads", "interface", "parameters", "runs", "from scratch")
    assert points({check: "p" if check in passed else "f" for check in CHECK_ORDER}) == 0.0
    assert not FORM & set(passed)


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


def test_total_with_large_worth_is_finite() -> None:
    """The sum of the worth of all challenges would be infinite here."""
    challenges = tuple(AssignedChallenge(name, worth=1e308) for name in ("gqa", "mha"))
    result = total({"gqa": 100.0, "mha": 50.0}, Assignment("x", challenges))
    assert result is not None
    assert math.isclose(result, 75.0)
