"""Each check refuses what it alone is for, and says so; tables of refused and accepted submissions of gqa."""

from itertools import combinations

import pytest

from tests.support.checks import BUGS, grade
from trainer.grading.grader import Grader


def test_later_checks_are_skipped_with_the_reason(grader: Grader) -> None:
    """A check that needs a failed one says which; one that does not is made."""
    report = grade(grader, ("math.sqrt(self.head_dim)", "self.head_dim"))
    reasons = {one.check: one.message for one in report.outcomes if one.status == "skipped"}
    assert reasons == {
        "masks": "needs values",
        "gradients": "needs values",
        "train/eval": "needs values",
        "properties": "needs values",
    }
    assert report.statuses()["vectorised"] == "passed"


@pytest.mark.sampled(2)
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
def test_fixing_a_bug_never_takes_a_check_away(grader: Grader, bugs: tuple[str, ...]) -> None:
    """Every check that passes with some bugs passes with fewer of them too."""
    passed = {
        frozenset(some): {
            name
            for name, status in grade(grader, *(BUGS[bug] for bug in some)).statuses().items()
            if status == "passed"
        }
        for count in range(len(bugs) + 1)
        for some in combinations(bugs, count)
    }
    for some, checks in passed.items():
        for bug in some:
            assert checks <= passed[some - {bug}], (sorted(some), bug)


def test_a_constructor_that_always_raises_refuses_nothing(grader: Grader) -> None:
    """It refuses bad sizes too, but not because they are bad."""
    always = ("super().__init__()", "raise ValueError")
    statuses = grade(grader, always).statuses()
    assert statuses["bad sizes"] == "skipped"
    assert {name for name, status in statuses.items() if status == "passed"} == {
        "loads",
        "interface",
    }


@pytest.mark.parametrize("persistent", [True, False])
def test_a_complex_buffer_is_cast_as_torch_casts_it(grader: Grader, persistent: bool) -> None:
    """It loses its imaginary part, and the report says so; in float32 nothing is cast."""
    buffer = f"self.register_buffer('turn', torch.polar(torch.ones(1), torch.ones(1)), persistent={persistent})"
    report = grade(
        grader,
        ("self.dropout = nn", f"{buffer}\n        self.dropout = nn"),
        ("return self.o_proj(merged)", "turned = self.turn * (1 - 0.25j) + 0j\n        return self.o_proj(merged) * (turned.imag > 0.5).to(x.dtype)"),
    )  # fmt: skip
    failed = [one for one in report.outcomes if one.status == "failed"]
    assert failed
    for outcome in failed:
        dtype = report.cases[outcome.number - 1].dtype  # type: ignore[operator]  # all are of cases
        assert dtype != "float32"
        said = f"the buffer turn lost its imaginary part when the module was cast to {dtype}"
        assert said in outcome.message
