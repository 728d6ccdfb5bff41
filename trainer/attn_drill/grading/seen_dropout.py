"""Run the reference with the same dropout pattern as a submission.

In some cases an output equals the attention weights, so it shows which weights were dropped. The
reference runs once more and drops exactly these: the submission must have the same gradients.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import permutations
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from attn_drill.model.case import axes


def kept_weights(
    dims: str, sizes: Mapping[str, int], weights: Tensor, actual: Tensor
) -> dict[str, Tensor]:
    """Return boolean tensors that are True for kept weights, one for each order of the dimensions.

    The keys are the letters of the dimensions in order, e.g. "B H Lq Lk".

    Args:
        dims: the named dimensions of both tensors. Along `copy` lie copies of the same weight. The
            last letter is the key.
        actual: the submission's output. A dropped weight is 0.
    """
    letters = [letter for axis in axes(dims) for letter in axis]
    kept = actual.to(torch.float64).abs() > weights.abs() / 2
    kept = kept.reshape([sizes[letter] for letter in letters])
    if "copy" in letters:
        kept = kept.select(letters.index("copy"), 0)
        letters.remove("copy")
    in_orders: dict[str, Tensor] = {}
    # [B, H, Lq, Lk] first: implementations have heads before queries, outputs after queries.
    for order in sorted(
        permutations(letters[:-1]),
        key=lambda candidate: [letter not in ("B", "H") for letter in candidate],
    ):
        full = [*order, letters[-1]]
        in_orders[" ".join(full)] = kept.permute([letters.index(letter) for letter in full])
    return in_orders


class ReplayedDropout(TorchFunctionMode):
    """Make dropout in this thread keep the weights of `kept_weights`, and scale them as usual."""

    def __init__(self, kept: Mapping[str, Tensor], p: float) -> None:
        super().__init__()
        self._kept, self._p = kept, p
        self.calls = 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func not in (functional.dropout, torch.dropout):
            return func(*args, **(kwargs or {}))
        weights = args[0] if args else (kwargs or {})["input"]
        count = math.prod(weights.shape)
        for kept in self._kept.values():
            if kept.numel() == count and _without_ones(kept.shape) == _without_ones(weights.shape):
                self.calls += 1
                return weights * (kept.reshape(weights.shape).to(weights.dtype) / (1 - self._p))
        return weights


def _without_ones(shape: torch.Size) -> list[int]:
    return [size for size in shape if size != 1]
