"""The grader's tolerance: the largest difference from the reference that a right answer may have.

The reference runs in float64 and once more in the case's dtype. The difference between the two
results is the rounding loss of the dtype in this case, so right code does not fail on large logits.
The defaults of `torch.testing` are added to this loss. The absolute default is scaled down with the
size of the expected values, so that zeros do not pass for tiny outputs.
"""

from __future__ import annotations

import torch
from torch import Tensor

# (relative, absolute) tolerance by dtype, as in torch.testing. float64 is no tighter than 1e-6,
# because an answer with softmax in float32 is right.
_DEFAULTS: dict[str, tuple[float, float]] = {
    "float64": (1e-6, 1e-6),
    "float32": (1.3e-6, 1e-5),
    "bfloat16": (1.6e-2, 1.6e-2),
}
# Right code with another order of operations may lose this many times as much as the reference.
_LOSS_FACTOR: dict[str, float] = {"float64": 16.0, "float32": 16.0, "bfloat16": 6.0}


def lower_dtype(dtype: str) -> str:
    """Return the dtype in which the rounding loss of a case is measured.

    For float64 this is float32, because parts of a right answer may be computed in float32.
    """
    return "float32" if dtype == "float64" else dtype


def loss(expected: Tensor, lowered: Tensor) -> float:
    """Return the largest absolute difference between results in float64 and in a lower dtype."""
    if expected.numel() == 0 or not expected.is_floating_point():
        return 0.0
    return float((lowered.to(torch.float64) - expected).abs().max())


def allowed(expected: Tensor, dtype: str, lost: float, scale: float | None = None) -> Tensor:
    """Return the bound on |actual - expected| for each entry; 0 for booleans and integers.

    Args:
        lost: the result of `loss` for this tensor.
        scale: the largest absolute entry of all gradients of a case, because some of them are zero
            except for rounding; by default that of the tensor itself.
    """
    if not expected.is_floating_point():
        return torch.zeros(expected.shape, dtype=torch.float64)
    relative, absolute = _DEFAULTS[dtype]
    size = expected.abs()
    if scale is None:
        scale = float(size.max()) if size.numel() else 0.0
    return relative * size + absolute * min(1.0, scale) + _LOSS_FACTOR[dtype] * lost
