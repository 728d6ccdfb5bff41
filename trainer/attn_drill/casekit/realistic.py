"""Describe one call of realistic size, which the notes after a pass measure.

The tensors of the call have a shape and a dtype, but no values and no memory (device "meta").
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from attn_drill.model.case import Case


def realistic_call(
    name: str,
    *,
    init: Mapping[str, object] | None = None,
    sizes: Mapping[str, int] | None = None,
    **inputs: object,
) -> Case:
    """Return the call that `realistic()` of a `cases.py` describes.

    The name says the size, e.g. "a layer of Llama 3 8B, B = 1, L = 2048". Inputs and sizes are
    those that `drive` reads; `shaped` makes tensors.
    """
    return Case(name, inputs, dims={}, sizes=sizes or {}, init=init or {}, gradients=False)


def shaped(*shape: int, dtype: str = "float32") -> Tensor:
    """Return a tensor of this shape and dtype without values."""
    return torch.empty(shape, dtype=getattr(torch, dtype), device="meta")
