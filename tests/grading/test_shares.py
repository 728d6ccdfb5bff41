"""Tests of the share of each check that a submission gets right, with changed references."""

import pytest

from attn_drill.grading.grader import Grader
from attn_drill.model.challenge import Challenge, Submission
from attn_drill.packs import pack_reader
from tests.support.grading import BUGS, GQA, SOLUTION

MHA = pack_reader.find_challenge(pack_reader.built_in_pack(), "mha")
ABOUT_VALUES = ("values", "masks", "gradients", "train/eval", "properties")
END = "return self.o_proj(merged)"


def shares(
    grader: Grader, *changes: tuple[str, str], challenge: Challenge = GQA
) -> dict[str, float]:
    """Return the shares of the reference of a challenge with replacements that must apply."""
    source = SOLUTION if challenge is GQA else pack_reader.solution(challenge)
    for old, new in changes:
        assert old in source, old
        source = source.replace(old, new)
    judgement = grader.grade(challenge, Submission(challenge.file_name, source), 5)
    return dict(judgement.with_shares().report.shares)


def test_right_answer_has_everything(grader: Grader) -> None:
    """The shares are those of the due checks, in their order."""
    found = shares(grader)
    assert set(found.values()) == {1.0}
    assert list(found)[3:8] == ["runs", "shapes", "dtype", "values", "masks"]


@pytest.mark.parametrize(
    "answer",
    [
        "torch.zeros_like(x)",
        "x",
        pytest.param("x.mean(dim=1, keepdim=True).expand_as(x)", id="the mean of the input"),
        pytest.param("x.mean(dim=-1, keepdim=True).expand_as(x)", id="the mean of each token"),
    ],
)
def test_trivial_answer_has_nothing(grader: Grader, answer: str) -> None:
    """It has the right shape, and right values where every key is masked."""
    found = shares(grader, (END, f"return {answer}"))
    assert found["shapes"] == found["dtype"] == found["bad sizes"] == 1.0
    assert {check: found[check] for check in ABOUT_VALUES} == dict.fromkeys(ABOUT_VALUES, 0.0)


def test_crash_costs_only_the_cases_in_which_it_happens(grader: Grader) -> None:
    """No check waits for another check: cases without a mask keep their values and gradients."""
    found = shares(grader, BUGS["a mask raises"])
    assert (found["values"], found["masks"], found["bad sizes"]) == (1.0, 0.0, 1.0)
    assert 0.2 < found["runs"] == found["shapes"] < 0.8
    assert 0.2 < found["gradients"] < 0.8
    assert 0.2 < found["properties"] < 0.8


def test_dtype_costs_the_cases_in_which_it_is_wrong(grader: Grader) -> None:
    """An answer that returns float32 always is right in the cases in float32."""
    found = shares(grader, (END, f"{END}.float()"))
    assert (found["runs"], found["shapes"]) == (1.0, 1.0)
    assert 0.5 < found["dtype"] < 1.0
    assert 0.5 < found["values"] <= 1.0


def test_each_output_of_a_case_counts(grader: Grader) -> None:
    """The output is right, and the returned weights are not."""
    found = shares(grader, ("return out, weights", "return out, weights.mean(1)"), challenge=MHA)
    assert 0.5 <= found["values"] < 1.0
    assert 0.5 <= found["masks"] < 1.0


def test_wrong_values_have_few_shares(grader: Grader) -> None:
    """Right are only cases in which the scale does not matter, as with a single key."""
    found = shares(grader, BUGS["no scale"])
    assert found["shapes"] == 1.0
    assert 0 < found["values"] < 0.3


def test_file_that_does_not_load_has_nothing(grader: Grader) -> None:
    """No check is right by default."""
    found = shares(grader, ("import math", "import math, no_such_module"))
    assert found["loads"] == 0.0
    assert set(found.values()) <= {0.0, 1.0}
    assert not any(found[check] for check in (*ABOUT_VALUES, "shapes", "dtype", "runs"))
