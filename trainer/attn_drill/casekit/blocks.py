"""Tools for cases of transformer blocks and small language models."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from attn_drill.casekit.draw import Draw
from attn_drill.casekit.maker import CaseMaker, Sizes, shape


def small_hidden(draw: Draw, mlp: str, width: int, size: float = 0.02) -> dict[str, Tensor]:
    """Return weights of the first layer of an MLP that make its hidden values small.

    There the exact GELU and its approximation with tanh agree to the last digits of float32, so
    both are right. For values of 0.02 their derivatives agree too; for values of 0.1 only the
    functions agree.

    `mlp` is the path of the MLP, e.g. "blocks.0.mlp". Its first layer is `fc`, from M to 4 M.
    """
    return {
        f"{mlp}.fc.weight": draw.normal(4 * width, width, scale=size * width**-0.5),
        f"{mlp}.fc.bias": draw.normal(4 * width, scale=size / 2),
    }


def own_scores_far_below_zero(draw: Draw, width: int) -> dict[str, Tensor]:
    """Return weights with which each token of the first block scores about -100 with itself.

    The first token sees only itself. So a mask that fills with -100 does not hide the others from
    it. The keys are the queries with the opposite sign. In float64, exp of such scores is not 0.
    """
    queries = draw.normal(width, width, scale=2.0)
    values = draw.normal(width, width, scale=width**-0.5)
    return {
        "blocks.0.attn.qkv_proj.weight": torch.cat([queries, -queries, values]),
        "blocks.0.attn.qkv_proj.bias": queries.new_zeros(3 * width),
    }


class TokenMaker(CaseMaker):
    """Make cases whose inputs called `tokens` are indices below the size V."""

    def drawn(self, sizes: Sizes) -> dict[str, Any]:
        """Return a draw for every input: tokens from 0 to V - 1, other inputs from N(0, 1)."""
        all_sizes = self.with_products(sizes)
        inputs = super().drawn(sizes)
        for name, dims in self.inputs.items():
            if name.endswith("tokens"):
                inputs[name] = self.draw.integers(*shape(dims, all_sizes), high=all_sizes["V"])
        return inputs
