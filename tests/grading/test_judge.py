"""The judge: skipped checks, statuses and advice in the report, with changed references of gqa."""

from itertools import combinations

import pytest

from attn_drill.grading.grader import Grader
from tests.support.grading import BUGS, failed_outcomes, grade, passed_checks


def test_later_checks_are_skipped_with_the_reason(grader: Grader) -> None:
    """A check that needs a failed check is skipped and names it. All other checks are made."""
    report = grade(grader, ("math.sqrt(self.head_dim)", "self.head_dim"))
    reasons = {
        outcome.check: outcome.message for outcome in report.outcomes if outcome.status == "skipped"
    }
    assert reasons == {
        "masks": "needs values",
        "gradients": "needs values",
        "train/eval": "needs values",
        "properties": "needs values",
    }
    assert report.statuses()["vectorised"] == "passed"
    names = [signature.name.partition(".")[2] for signature in report.signatures]
    assert names == ["__init__", "forward"]
    assert "self.head_dim" in report.source
    explained, *others = failed_outcomes(report)
    assert others
    assert explained.mismatch is not None
    assert explained.mismatch.error_maps, "the report shows a picture of this failure only"
    assert not any(outcome.mismatch and outcome.mismatch.error_maps for outcome in others)


@pytest.mark.sampled(3)
@pytest.mark.thorough
@pytest.mark.parametrize(
    "bugs",
    [
        pytest.param(("a mask raises", "no scale", "no gradient"), id="values after a crash"),
        pytest.param(("a mask raises", "a soft mask", "no dropout"), id="masks after a crash"),
        pytest.param(("a long input raises", "no gradient", "a soft mask"), id="gradients"),
        pytest.param(("the constructor raises", "no refusal", "no scale"), id="constructor"),
        pytest.param(("a mask raises", "library attention", "no refusal"), id="library"),
    ],
)
def test_fixing_a_bug_keeps_all_passed_checks(grader: Grader, bugs: tuple[str, ...]) -> None:
    """Every check that passes with some bugs also passes with fewer of these bugs."""
    passed = {
        frozenset(some): passed_checks(grade(grader, *(BUGS[bug] for bug in some)))
        for count in range(len(bugs) + 1)
        for some in combinations(bugs, count)
    }
    for some, checks in passed.items():
        for bug in some:
            assert checks <= passed[some - {bug}], (sorted(some), bug)


def test_constructor_that_always_raises_does_not_pass_bad_sizes(grader: Grader) -> None:
    """The constructor also refuses bad sizes, but for another reason."""
    report = grade(grader, ("super().__init__()", "raise ValueError"))
    count = len(report.cases)
    assert report.statuses()["bad sizes"] == "skipped"
    assert {outcome.message for outcome in report.outcomes if outcome.check == "bad sizes"} == {
        f"the constructor raises in {count} of {count} cases with valid sizes"
    }
    assert passed_checks(report) == {"loads", "interface", "defaults"}


@pytest.mark.thorough
@pytest.mark.parametrize("persistent", [True, False])
def test_lost_imaginary_part_is_reported(grader: Grader, persistent: bool) -> None:
    """The cast of torch cuts off the imaginary part of a buffer. In float32 nothing is cast."""
    buffer = (
        "self.register_buffer('turn', torch.polar(torch.ones(1), torch.ones(1)), "
        f"persistent={persistent})"
    )
    turned = (
        "turned = self.turn * (1 - 0.25j) + 0j\n"
        "        return self.o_proj(merged) * (turned.imag > 0.5).to(x.dtype)"
    )
    report = grade(
        grader,
        ("self.dropout = nn", f"{buffer}\n        self.dropout = nn"),
        ("return self.o_proj(merged)", turned),
    )
    failed = failed_outcomes(report)
    assert failed
    for outcome in failed:
        assert outcome.number is not None
        dtype = report.cases[outcome.number - 1].dtype
        assert dtype != "float32"
        advice = f"the buffer turn lost its imaginary part when the module was cast to {dtype}"
        assert advice in outcome.message
