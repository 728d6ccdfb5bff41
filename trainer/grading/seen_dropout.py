"""The reference's gradients under the dropout that a submission drew.

A case that reads the attention weights out shows which of them were dropped. The reference runs once
more with exactly these dropped, so that its gradients are those that the submission must have.
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

from trainer.model.case import axes


def kept_weights(
    dims: str, sizes: Mapping[str, int], weights: Tensor, actual: Tensor
) -> dict[str, Tensor]:
    """Return which weights were kept: a boolean tensor for each of their letters' orders, by the letters.

    Args:
        dims: the named dimensions of the output that reads the weights out; `copy` holds read-outs of
            the same weight, and the last letter is the key.
        sizes: the value of every letter.
        weights: the weights without dropout, in the shape of the output.
        actual: the submission's output. It holds 0 for a dropped weight.
    """
    letters = [letter for axis in axes(dims) for letter in axis]
    kept = (actual.to(torch.float64).abs() > weights.abs() / 2).reshape(
        [sizes[letter] for letter in letters]
    )
    if "copy" in letters:
        kept = kept.select(letters.index("copy"), 0)
        letters.remove("copy")
    found: dict[str, Tensor] = {}
    # [B, H, Lq, Lk] first: heads stand before queries in an implementation, and after them in an output.
    for order in sorted(
        permutations(letters[:-1]),
        key=lambda some: [letter != "B" and letter != "H" for letter in some],
    ):
        full = [*order, letters[-1]]
        found[" ".join(full)] = kept.permute([letters.index(letter) for letter in full])
    return found


class DropsAsSeen(TorchFunctionMode):
    """While active, dropout in this thread keeps the weights that it is told, and scales them.

    Args:
        kept: which weights are kept, in several orders of their dimensions.
        p: the probability of dropping.
    """

    def __init__(self, kept: Mapping[str, Tensor], p: float) -> None:
        super().__init__()
        self._kept, self._p = kept, p
        self.calls = 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Multiply by 0 or 1 / (1 - p) in place of dropout; run everything else."""
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
