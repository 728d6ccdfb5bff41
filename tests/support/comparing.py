"""Helpers of the tests of comparing."""

import torch

from trainer.grading.tensor_comparison import compare_values
from trainer.grading.tolerance import allowed


def mismatch(
    expected: torch.Tensor,
    actual: torch.Tensor,
    dtype: str = "float32",
    lost: float = 0.0,
    dims: str = "",
    **sizes: int,
):
    """Compare under the default rule."""
    expected = expected.to(torch.float64)
    return compare_values("out", dims, sizes, expected, actual, allowed(expected, dtype, lost))
