"""How much an answer may differ: the grader's rule, a case at a time.

The reference runs in float64 and once more in the case's dtype; what it loses between the two is what the dtype costs
here, so large logits do not fail right code. On top lie `torch.testing`'s defaults, the absolute one scaled down with the
size of what is expected, so that tiny outputs do not pass zeros.
"""

from __future__ import annotations

import torch
from torch import Tensor

# dtype: (relative, absolute), as torch.testing has them; float64 no tighter than 1e-6, because softmax in float32 is right.
_DEFAULTS: dict[str, tuple[float, float]] = {
    "float64": (1e-6, 1e-6),
    "float32": (1.3e-6, 1e-5),
    "bfloat16": (1.6e-2, 1.6e-2),
}
# Another right order of operations may lose this many times what the reference loses.
_LOSS_FACTOR: dict[str, float] = {"float64": 16.0, "float32": 16.0, "bfloat16": 6.0}


def lower_dtype(dtype: str) -> str:
    """The dtype in which the loss is measured: float32 for float64, where parts of a right answer may be float32."""
    return "float32" if dtype == "float64" else dtype


def loss(expected: Tensor, lowered: Tensor) -> float:
    """The largest absolute difference between the float64 result and the same in a lower dtype."""
    if expected.numel() == 0 or not expected.is_floating_point():
        return 0.0
    return float((lowered.to(torch.float64) - expected).abs().max())


def allowed(expected: Tensor, dtype: str, lost: float, scale: float | None = None) -> Tensor:
    """Entrywise bound on |actual - expected|; 0 for booleans and integers.

    Args:
        expected: float64, any shape.
        dtype: the case's dtype.
        lost: what `loss` gave for this tensor.
        scale: the size of the group that the tensor belongs to; by default its own largest entry. A gradient is measured
            against all gradients of its case, because some of them are zero but for rounding.
    """
    if not expected.is_floating_point():
        return torch.zeros(expected.shape, dtype=torch.float64)
    relative, absolute = _DEFAULTS[dtype]
    size = expected.abs()
    if scale is None:
        scale = float(size.max()) if size.numel() else 0.0
    return relative * size + absolute * min(1.0, scale) + _LOSS_FACTOR[dtype] * lost
