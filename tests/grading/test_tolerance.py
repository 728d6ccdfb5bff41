"""Tolerance and comparison: no wrong answer passes, no right one is refused, and where is said."""

import math

import pytest
import torch

from tests.support.comparing import mismatch
from trainer.grading.tolerance import allowed, loss, lower_dtype


@pytest.mark.parametrize(
    ("expected", "actual", "dtype", "accepted"),
    [
        pytest.param([1.0, -2.0], [1.0, -2.0], "float32", True, id="equal"),
        pytest.param([1.0, -2.0], [1.0 + 1e-6, -2.0], "float32", True, id="float32 rounding"),
        pytest.param(
            [1.0, -2.0], [1.0 + 1e-4, -2.0], "float32", False, id="beyond float32 rounding"
        ),
        pytest.param(
            [1.0, -2.0], [1.0 + 5e-7, -2.0], "float64", True, id="softmax in float32 at float64"
        ),
        pytest.param(
            [1.0, -2.0], [1.0 + 1e-5, -2.0], "float64", False, id="beyond float32 at float64"
        ),
        pytest.param([1.0, -2.0], [1.02, -2.0], "bfloat16", True, id="bfloat16 rounding"),
        pytest.param([1.0, -2.0], [1.1, -2.0], "bfloat16", False, id="beyond bfloat16 rounding"),
        pytest.param(
            [1e-7, -2e-7], [0.0, 0.0], "float32", False, id="tiny outputs do not pass zeros"
        ),
        pytest.param(
            [1e-7, -2e-7], [1.0000001e-7, -2e-7], "float32", True, id="tiny outputs pass themselves"
        ),
        pytest.param([0.0, 0.0], [0.0, -0.0], "float32", True, id="zeros"),
        pytest.param([0.0, 0.0], [1e-30, 0.0], "float32", False, id="exact zeros are exact"),
        pytest.param([1.0, 2.0], [1.0, math.nan], "float32", False, id="NaN"),
        pytest.param([1.0, 2.0], [1.0, math.inf], "float32", False, id="infinity"),
        pytest.param(
            [1e4, 0.1],
            [1e4, 0.10001],
            "float32",
            True,
            id="the absolute part is as in torch.testing",
        ),
    ],
)
def test_bounds(expected: list[float], actual: list[float], dtype: str, accepted: bool) -> None:
    """The two tables of what is accepted and what is refused."""
    found = mismatch(
        torch.tensor(expected, dtype=torch.float64),
        torch.tensor(actual, dtype=torch.float64),
        dtype,
    )
    assert (found is None) is accepted


def test_loss_of_the_dtype_widens_the_bound() -> None:
    """What the reference loses in the case's dtype, another right order of operations may lose several times."""
    expected, lowered = (
        torch.tensor([100.0, 1.0], dtype=torch.float64),
        torch.tensor([100.001, 1.0]),
    )
    lost = loss(expected, lowered)
    assert 0.0009 < lost < 0.0011
    assert mismatch(expected, torch.tensor([100.004, 1.004]), lost=lost) is None
    assert mismatch(expected, torch.tensor([100.1, 1.0]), lost=lost) is not None


def test_gradients_are_measured_by_their_group() -> None:
    """A gradient that is zero but for rounding passes beside large ones, and no large one passes as zero."""
    zero = torch.zeros(2, dtype=torch.float64)
    assert bool((torch.tensor([1e-8, 0.0]) <= allowed(zero, "float32", 0.0, scale=1.0)).all())
    assert not bool((torch.tensor([1e-8, 0.0]) <= allowed(zero, "float32", 0.0)).all())


def test_lower_dtype() -> None:
    """float64 is measured against float32, all others against themselves."""
    assert [lower_dtype(one) for one in ("float64", "float32", "bfloat16")] == [
        "float32",
        "float32",
        "bfloat16",
    ]
