"""The grader's tolerance: no wrong answer passes, and no right answer is refused."""

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from attn_drill.grading._tolerance import (
    allowed,
    compare_dropout,
    compare_values,
    loss,
    lower_dtype,
)
from tests.support.grading import mismatch
from tests.support.rows import each_row


@each_row(
    "expected, actual, dtype",
    {
        "equal": ([1.0, -2.0], [1.0, -2.0], "float32"),
        "float32 rounding": ([1.0, -2.0], [1.0 + 1e-6, -2.0], "float32"),
        "softmax in float32": ([1.0, -2.0], [1.0 + 5e-7, -2.0], "float64"),
        "bfloat16 rounding": ([1.0, -2.0], [1.02, -2.0], "bfloat16"),
        "equal tiny outputs": ([1e-7, -2e-7], [1.0000001e-7, -2e-7], "float32"),
        "zeros": ([0.0, 0.0], [0.0, -0.0], "float32"),
        "the absolute tolerance of torch": ([1e4, 0.1], [1e4, 0.10001], "float32"),
    },
)
def test_rounding_is_accepted(expected: list[float], actual: list[float], dtype: str) -> None:
    """Differences that right code can have are within the bound."""
    exact = torch.tensor(expected, dtype=torch.float64)
    assert mismatch(exact, torch.tensor(actual, dtype=torch.float64), dtype) is None


@each_row(
    "expected, actual, dtype",
    {
        "beyond float32 rounding": ([1.0, -2.0], [1.0 + 1e-4, -2.0], "float32"),
        "beyond float32 in float64": ([1.0, -2.0], [1.0 + 1e-5, -2.0], "float64"),
        "beyond bfloat16 rounding": ([1.0, -2.0], [1.1, -2.0], "bfloat16"),
        "zeros for tiny outputs": ([1e-7, -2e-7], [0.0, 0.0], "float32"),
        "a tiny output for zeros": ([0.0, 0.0], [1e-30, 0.0], "float32"),
        "NaN": ([1.0, 2.0], [1.0, math.nan], "float32"),
        "infinity": ([1.0, 2.0], [1.0, math.inf], "float32"),
    },
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


def test_counts_and_places_of_differences() -> None:
    """The report has the largest and the first difference, and the affected indices of each dim."""
    expected = torch.zeros(2, 3, 8, dtype=torch.float64) + 1
    actual = expected.clone()
    actual[1, 2, 4:6] = 3
    actual[1, 0, 5] = 9
    found = mismatch(expected, actual, dims="B L (H D)", B=2, L=3, H=2, D=4)
    assert (found.mismatched, found.total) == (3, 48)
    assert found.max_abs_error == 8
    assert found.max_abs_error_index == (1, 0, 5)
    assert found.first.index[:2] == (1, 0)
    assert {affected.dim: affected.wrong for affected in found.affected} == {
        "B": (1,),
        "L": (0, 2),
        "H": (1,),
        "D": (0, 1),
    }


def test_nan_is_the_largest_difference() -> None:
    """NaN ranks above every finite difference, and the report gives no size for it."""
    found = mismatch(torch.ones(3), torch.tensor([50.0, math.nan, 1.0]))
    assert found.max_abs_error is None
    assert found.max_abs_error_index == (1,)
    assert found.actual_summary.not_finite == 1


def test_scalars_and_booleans_are_compared() -> None:
    """A tensor without dims and a mask are compared like other tensors."""
    assert mismatch(torch.tensor(1.0), torch.tensor(2.0)) is not None
    assert mismatch(torch.tensor([True, False]), torch.tensor([True, False])) is None
    found = mismatch(torch.tensor([True, False]), torch.tensor([True, True]))
    assert found.mismatched == 1


@pytest.mark.parametrize("dtype", [torch.bool, torch.int64])
def test_booleans_and_integers_have_no_tolerance(dtype: torch.dtype) -> None:
    """Every difference is refused."""
    expected = torch.tensor([[1, 0], [0, 1]]).to(dtype)
    opposite = expected.logical_not().to(dtype)
    bound = allowed(expected, "float32", 0.0)
    sizes = {"Lq": 2, "Lk": 2}
    assert compare_values("mask", "Lq Lk", sizes, expected, expected.clone(), bound) is None
    found = compare_values("mask", "Lq Lk", sizes, expected, opposite, bound)
    assert (found.mismatched, found.max_abs_error) == (4, 1.0)


P = 0.3  # the probability of dropping
Change = Callable[[Tensor, Tensor], Tensor]  # of the weights and of the kept entries


def dropout_trouble(change: Change) -> str | None:
    """Return the message on weights [B, L, H, copy, K] that `change(weights, keep)` returns.

    `keep` has a copy axis of size 1.
    """
    sizes = {"B": 2, "L": 9, "H": 3, "copy": 2, "K": 9}
    generator = torch.Generator().manual_seed(3)
    drawn = torch.rand(2, 9, 3, 1, 9, generator=generator, dtype=torch.float64)
    weights = drawn.softmax(-1).expand(2, 9, 3, 2, 9)
    keep = torch.rand(2, 9, 3, 1, 9, generator=generator) >= P
    bound = allowed(weights.flatten(2), "float32", 0)
    actual = change(weights, keep).flatten(2)
    return compare_dropout("B L (H copy K)", sizes, weights.flatten(2), actual, bound, P)


def repeated(keep: Tensor, axis: int) -> Tensor:
    """Return `keep` with the first index of an axis copied over the second index."""
    first, rest = keep.narrow(axis, 0, 1), keep.narrow(axis, 2, keep.shape[axis] - 2)
    return torch.cat([first, first, rest], axis)


def test_right_dropout_is_accepted() -> None:
    """Each weight is 0 or divided by 1 - p, independently."""
    assert dropout_trouble(lambda w, keep: w * keep / (1 - P)) is None


@each_row(
    "change, says",
    {
        "none": (lambda w, keep: w, "nothing is dropped"),
        "not rescaled": (lambda w, keep: w * keep, "divided by 1 - p"),
        "rescaled by p": (lambda w, keep: w * keep / P, "neither 0 nor"),
        "p is the share kept": (lambda w, keep: w * ~keep / (1 - P), "must be 30%"),
        "on the output": (
            lambda w, keep: w * torch.nn.functional.dropout(torch.ones_like(w), P),
            "dropped independently",
        ),
        "one pattern for the batch": (
            lambda w, keep: w * keep[:1] / (1 - P),
            "several indices of B",
        ),
        "one pattern for all heads": (
            lambda w, keep: w * keep[:, :, :1] / (1 - P),
            "several indices of H",
        ),
        "one pattern for a group": (
            lambda w, keep: w * repeated(keep, 2) / (1 - P),
            "several indices of H",
        ),
        "whole keys": (lambda w, keep: w * keep[:, :1] / (1 - P), "several indices of L"),
        # If heads share a pattern, two rows can also be equal by chance.
        "one pattern for all heads, with equal rows": (
            lambda w, keep: w * repeated(keep, 1)[:, :, :1] / (1 - P),
            "several indices of H",
        ),
        "another factor": (lambda w, keep: w * keep / (1 - P) * 1.01, "neither 0 nor"),
    },
)
def test_wrong_dropout_is_refused(change: Change, says: str) -> None:
    """Each kind of wrong dropout has its own message."""
    trouble = dropout_trouble(change)
    assert says in trouble


def test_masked_weight_must_be_0_under_dropout() -> None:
    """A small weight at a masked position is refused."""
    weights = torch.tensor([0.1] * 10 + [0.0] * 2, dtype=torch.float64).expand(2, 9, 3, 12)
    bound = allowed(weights, "float32", 0)
    generator = torch.Generator().manual_seed(1)
    dropped = weights * (torch.rand(2, 9, 3, 12, generator=generator) >= P) / (1 - P)
    sizes = {"B": 2, "L": 9, "H": 3, "K": 12}
    assert compare_dropout("B L H K", sizes, weights, dropped, bound, P) is None
    leaking = dropped + 0.01 * (weights == 0)
    trouble = compare_dropout("B L H K", sizes, weights, leaking, bound, P)
    assert "a masked position has a weight other than 0" in trouble
