"""Helpers for tests of the comparison of tensors."""

import torch

from attn_drill.grading._tolerance import allowed, compare_values
from attn_drill.model.report import Mismatch


def mismatch(
    expected: torch.Tensor,
    actual: torch.Tensor,
    dtype: str = "float32",
    lost: float = 0.0,
    dims: str = "",
    **sizes: int,
) -> Mismatch | None:
    """Compare two tensors with the grader's tolerance."""
    expected = expected.to(torch.float64)
    return compare_values("out", dims, sizes, expected, actual, allowed(expected, dtype, lost))
