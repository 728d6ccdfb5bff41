"""Scores that a suite designs for a case."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Scores:
    """Designed scores: that of a query and a key is `keys * queries * heads`, give or take 1.

    Attributes:
        keys: [Lk] or [B, Lk], up to ±200.
        queries: [Lq] or [B, Lq] of ±1.
        in_turn: whether every other head has the opposite sign.
        huge: [Lk] bool: these keys have values of 1e36, and all others have values of about 1e-6.
        factored: whether scores are made of smaller factors and outputs are small, so that the
            gradients of right answers lose little precision.
    """

    keys: Tensor
    queries: Tensor | None = None
    in_turn: bool = False
    huge: Tensor | None = None
    factored: bool = False

    def of_heads(self, heads: int) -> Tensor:
        """Return the factor of every head, [heads]."""
        return (-1.0) ** torch.arange(heads) if self.in_turn else torch.ones(heads)
