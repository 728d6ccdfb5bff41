"""Tests of the observed behaviour of a submission."""

import pytest
import torch

from attn_drill.diagnosis._behaviour import coinciding_sizes, has_nan, is_equal, observe
from attn_drill.diagnosis.patched_references import Behaviour
from attn_drill.grading.grader import Grader
from attn_drill.model.case import Case
from tests.support.diagnosis import CHALLENGES
from tests.support.grading import judged, with_mistakes

SDPA = CHALLENGES["sdpa"]


def test_wrong_cases_come_first(grader: Grader) -> None:
    """An answer with an inverted mask is wrong only in masked cases."""
    judgement = judged(grader, SDPA, with_mistakes(SDPA, "mask-inverted")).judgement
    observed = observe(judgement.comparison)
    wrong = [case.is_wrong for case in observed]
    assert wrong == sorted(wrong, reverse=True)
    assert any(wrong)
    assert not all(wrong)
    assert not any(case.is_random for case in observed)
    cases = judgement.comparison.case_set.cases
    assert all(
        cases[case.index].inputs.get("mask") is not None for case in observed if case.is_wrong
    )


@pytest.mark.parametrize(
    ("output", "other", "dtype", "equal"),
    [
        pytest.param(torch.ones(3), torch.ones(3) + 1e-4, "float32", True, id="rounding"),
        pytest.param(
            torch.ones(3), torch.ones(3) + 1e-2, "float32", False, id="more than rounding"
        ),
        pytest.param(
            torch.ones(3), torch.ones(3) + 1e-2, "bfloat16", True, id="rounding, bfloat16"
        ),
        pytest.param(torch.ones(3), torch.ones(1, 3), "float32", False, id="another shape"),
        pytest.param(torch.tensor([1, 2]), torch.tensor([1, 3]), "float32", False, id="integers"),
        pytest.param(
            torch.tensor([1.0, torch.nan]),
            torch.tensor([1.0, torch.nan]),
            "float32",
            True,
            id="NaN in the same place",
        ),
        pytest.param(
            torch.tensor([1.0, torch.nan]),
            torch.tensor([torch.nan, 1.0]),
            "float32",
            False,
            id="NaN in another place",
        ),
        pytest.param("int: 3", "int: 3", "float32", True, id="text"),
        pytest.param("int: 3", torch.ones(1), "float32", False, id="text and tensor"),
    ],
)
def test_equality_up_to_rounding(
    output: torch.Tensor | str, other: torch.Tensor | str, dtype: str, equal: bool
) -> None:
    """Rounding depends on the dtype of the case."""
    assert is_equal(output, other, dtype) is equal


def test_sizes_that_are_1_or_equal_are_counted() -> None:
    """H = 4 and L = 4 coincide, B is 1, and the group of 4 / 2 heads equals Hkv."""
    sizes = {"B": 1, "H": 4, "L": 4, "D": 3}
    assert coinciding_sizes(Case("a", {}, {}, sizes)) == 2
    assert coinciding_sizes(Case("a", {}, {}, {"B": 3, "H": 4, "Hkv": 2})) == 1
    assert coinciding_sizes(Case("a", {}, {}, {"B": 2, "H": 3, "L": 5})) == 0


def test_nan_in_any_output_is_found() -> None:
    """A text output or a missing behaviour has no NaN."""
    assert has_nan(Behaviour(None, {"a": torch.ones(2), "b": torch.tensor([torch.nan])}))
    assert not has_nan(Behaviour(None, {"a": torch.ones(2), "b": "float: nan"}))
    assert not has_nan(None)
