"""The grader's tolerance: no wrong answer passes, and no right answer is refused."""

import math

import pytest
import torch

from attn_drill.grading._tolerance import allowed, loss, lower_dtype
from tests.support.grading import mismatch


@pytest.mark.parametrize(
    ("expected", "actual", "dtype"),
    [
        pytest.param([1.0, -2.0], [1.0, -2.0], "float32", id="equal"),
        pytest.param([1.0, -2.0], [1.0 + 1e-6, -2.0], "float32", id="float32 rounding"),
        pytest.param([1.0, -2.0], [1.0 + 5e-7, -2.0], "float64", id="softmax in float32"),
        pytest.param([1.0, -2.0], [1.02, -2.0], "bfloat16", id="bfloat16 rounding"),
        pytest.param([1e-7, -2e-7], [1.0000001e-7, -2e-7], "float32", id="equal tiny outputs"),
        pytest.param([0.0, 0.0], [0.0, -0.0], "float32", id="zeros"),
        pytest.param([1e4, 0.1], [1e4, 0.10001], "float32", id="the absolute tolerance of torch"),
    ],
)
def test_rounding_is_accepted(expected: list[float], actual: list[float], dtype: str) -> None:
    """Differences that right code can have are within the bound."""
    exact = torch.tensor(expected, dtype=torch.float64)
    assert mismatch(exact, torch.tensor(actual, dtype=torch.float64), dtype) is None


@pytest.mark.parametrize(
    ("expected", "actual", "dtype"),
    [
        pytest.param([1.0, -2.0], [1.0 + 1e-4, -2.0], "float32", id="beyond float32 rounding"),
        pytest.param([1.0, -2.0], [1.0 + 1e-5, -2.0], "float64", id="beyond float32 in float64"),
        pytest.param([1.0, -2.0], [1.1, -2.0], "bfloat16", id="beyond bfloat16 rounding"),
        pytest.param([1e-7, -2e-7], [0.0, 0.0], "float32", id="zeros for tiny outputs"),
        pytest.param([0.0, 0.0], [1e-30, 0.0], "float32", id="a tiny output for zeros"),
        pytest.param([1.0, 2.0], [1.0, math.nan], "float32", id="NaN"),
        pytest.param([1.0, 2.0], [1.0, math.inf], "float32", id="infinity"),
    ],
)
def test_larger_differences_are_refused(
    expected: list[float], actual: list[float], dtype: str
) -> None:
    """Differences that right code cannot have are out of bounds."""
    exact = torch.tensor(expected, dtype=torch.float64)
    found = mismatch(exact, torch.tensor(actual, dtype=torch.float64), dtype)
    assert found is not None


def test_loss_of_the_dtype_widens_the_bound() -> None:
    """Right code in another order of operations may lose more than the reference loses."""
    expected = torch.tensor([100.0, 1.0], dtype=torch.float64)
    lowered = torch.tensor([100.001, 1.0])
    lost = loss(expected, lowered)
    assert 0.0009 < lost < 0.0011
    assert mismatch(expected, torch.tensor([100.004, 1.004]), lost=lost) is None
    assert mismatch(expected, torch.tensor([100.1, 1.0]), lost=lost) is not None


def test_gradients_are_measured_by_their_group() -> None:
    """A gradient of zero may have rounding if other gradients of the case are large."""
    zero = torch.zeros(2, dtype=torch.float64)
    rounding = torch.tensor([1e-8, 0.0])
    assert bool((rounding <= allowed(zero, "float32", 0.0, scale=1.0)).all())
    assert not bool((rounding <= allowed(zero, "float32", 0.0)).all())


def test_loss_is_measured_in_the_lower_dtype() -> None:
    """The lower dtype of float64 is float32. Other dtypes are their own lower dtype."""
    lower = [lower_dtype(dtype) for dtype in ("float64", "float32", "bfloat16")]
    assert lower == ["float32", "float32", "bfloat16"]
