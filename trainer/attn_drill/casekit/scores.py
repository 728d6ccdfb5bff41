"""Attention scores that a suite designs for a case."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Scores:
    """The scores of a case: the score of a pair is `keys * queries * heads`, within ±1."""

    keys: Tensor  # the factor of each key, [Lk] or [B, Lk], up to ±200
    queries: Tensor | None = None  # the factor of each query, [Lq] or [B, Lq], ±1; None for 1
    alternating: bool = False  # whether the heads have alternating signs
    # [Lk] bool. Marked keys have values of 1e36, and all others have values of about 1e-6.
    huge: Tensor | None = None
    # Whether scores are products of smaller factors and outputs are small, so that the gradients of
    # right answers lose little precision.
    factored: bool = False

    def of_heads(self, heads: int) -> Tensor:
        """Return the factor of every head.

        >>> Scores(torch.ones(5), alternating=True).of_heads(3)
        tensor([ 1., -1.,  1.])
        """
        return (-1.0) ** torch.arange(heads) if self.alternating else torch.ones(heads)
