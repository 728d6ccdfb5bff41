"""Tolerance and comparison: no wrong answer passes, no right one is refused, and where is said."""

import math

import pytest
import torch

from tests.support.comparing import mismatch
from trainer.grading.tensor_comparison import compare_dropout, compare_values
from trainer.grading.tolerance import allowed


def test_counts_and_places() -> None:
    """Counts, the greatest difference with its index, the first, and which indices of each named dim."""
    expected = torch.zeros(2, 3, 8, dtype=torch.float64) + 1
    actual = expected.clone()
    actual[1, 2, 4:6] = 3
    actual[1, 0, 5] = 9
    found = mismatch(expected, actual, dims="B L (H D)", B=2, L=3, H=2, D=4)
    assert found is not None
    assert (found.mismatched, found.total) == (3, 48)
    assert found.max_abs_error == 8
    assert found.max_abs_error_index == (1, 0, 5)
    assert found.first is not None
    assert found.first.index[:2] == (1, 0)
    assert {one.dim: one.wrong for one in found.affected} == {
        "B": (1,),
        "L": (0, 2),
        "H": (1,),
        "D": (0, 1),
    }


def test_nan_is_the_worst() -> None:
    """NaN outranks every finite difference; its size is not given as a number."""
    found = mismatch(torch.ones(3), torch.tensor([50.0, math.nan, 1.0]))
    assert found is not None
    assert found.max_abs_error is None
    assert found.max_abs_error_index == (1,)
    assert found.actual_summary is not None
    assert found.actual_summary.not_finite == 1


def test_scalars_and_booleans() -> None:
    """A tensor without dims and a mask are compared like others."""
    assert mismatch(torch.tensor(1.0), torch.tensor(2.0)) is not None
    assert mismatch(torch.tensor([True, False]), torch.tensor([True, False])) is None
    found = mismatch(torch.tensor([True, False]), torch.tensor([True, True]))
    assert found is not None
    assert found.mismatched == 1


SIZES = {"B": 2, "L": 9, "H": 3, "copy": 2, "K": 9}


P = 0.3


def dropout_trouble(change) -> str | None:
    """What is said of weights [B, L, H, copy, K] after `change(weights, keep)`; keep has no copy axis."""
    generator = torch.Generator().manual_seed(3)
    weights = (
        torch.rand(2, 9, 3, 1, 9, generator=generator, dtype=torch.float64)
        .softmax(-1)
        .expand(2, 9, 3, 2, 9)
    )
    keep = torch.rand(2, 9, 3, 1, 9, generator=generator) >= P
    return compare_dropout(
        "w",
        "B L (H copy K)",
        SIZES,
        weights.flatten(2),
        change(weights, keep).flatten(2),
        allowed(weights.flatten(2), "float32", 0),
        P,
    )


@pytest.mark.parametrize(
    ("change", "says"),
    [
        pytest.param(lambda w, keep: w * keep / (1 - P), None, id="dropout"),
        pytest.param(lambda w, keep: w, "nothing is dropped", id="none"),
        pytest.param(lambda w, keep: w * keep, "divided by 1 - p", id="not rescaled"),
        pytest.param(lambda w, keep: w * keep / P, "neither 0 nor", id="rescaled by p"),
        pytest.param(lambda w, keep: w * ~keep / (1 - P), "must be 30%", id="p is the share kept"),
        pytest.param(
            lambda w, keep: w * torch.nn.functional.dropout(torch.ones_like(w), P),
            "dropped apart",
            id="on the output",
        ),
        pytest.param(
            lambda w, keep: w * keep[:1] / (1 - P),
            "several indices of B",
            id="one pattern for the batch",
        ),
        pytest.param(
            lambda w, keep: w * keep[:, :, :1] / (1 - P),
            "several indices of H",
            id="one pattern for all heads",
        ),
        pytest.param(
            lambda w, keep: (
                w * torch.cat([keep[:, :, :1], keep[:, :, :1], keep[:, :, 2:]], 2) / (1 - P)
            ),
            "several indices of H",
            id="one pattern for a group",
        ),
        pytest.param(
            lambda w, keep: w * keep[:, :1] / (1 - P), "several indices of L", id="whole keys"
        ),
        # Where heads share what is dropped two rows may be equal by chance as well.
        pytest.param(
            lambda w, keep: (
                w * torch.cat([keep[:, :1], keep[:, :1], keep[:, 2:]], 1)[:, :, :1] / (1 - P)
            ),
            "several indices of H",
            id="one pattern, rows alike",
        ),
        pytest.param(
            lambda w, keep: w * keep / (1 - P) * 1.01, "neither 0 nor", id="another factor"
        ),
    ],
)
def test_dropout(change, says: str | None) -> None:
    """Each way to get dropout wrong has its sentence, and the right one has none."""
    found = dropout_trouble(change)
    assert (found is None) if says is None else (found is not None and says in found), found


def test_a_masked_weight_counts_in_training_too() -> None:
    """Where the weight must be 0, anything else is refused, dropout or not."""
    weights = torch.tensor([0.1] * 10 + [0.0] * 2, dtype=torch.float64).expand(2, 9, 3, 12)
    bound = allowed(weights, "float32", 0)
    generator = torch.Generator().manual_seed(1)
    dropped = weights * (torch.rand(2, 9, 3, 12, generator=generator) >= P) / (1 - P)
    sizes = {"B": 2, "L": 9, "H": 3, "K": 12}
    assert compare_dropout("w", "B L H K", sizes, weights, dropped, bound, P) is None
    assert "a masked position has weight" in (
        compare_dropout("w", "B L H K", sizes, weights, dropped + 0.01 * (weights == 0), bound, P)
        or ""
    )


@pytest.mark.parametrize("dtype", ["bool", "int64"])
def test_what_is_no_float_is_exact(dtype: str) -> None:
    """Booleans and integers have no tolerance."""
    expected = torch.tensor([[1, 0], [0, 1]]).to(getattr(torch, dtype))
    bound = allowed(expected, "float32", 0.0)
    assert (
        compare_values("mask", "Lq Lk", {"Lq": 2, "Lk": 2}, expected, expected.clone(), bound)
        is None
    )
    found = compare_values(
        "mask",
        "Lq Lk",
        {"Lq": 2, "Lk": 2},
        expected,
        expected.logical_not().to(expected.dtype),
        bound,
    )
    assert found is not None
    assert (found.mismatched, found.max_abs_error) == (4, 1.0)
