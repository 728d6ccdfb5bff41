"""Bad sizes, blocks, and the call of realistic size."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor

from attn_drill.casekit._maker import CaseMaker, Sizes, shape
from attn_drill.casekit.draw import Draw
from attn_drill.model.case import Case, Refusal

# d_model, num_heads
_HEADS = ((20, 8), (26, 6), (25, 6), (17, 4), (4, 8))
# d_model, num_heads, num_kv_heads
_GROUPS = (
    (20, 8, 4),  # num_kv_heads divides d_model and num_heads
    (15, 6, 3),
    (26, 6, 2),
    (25, 6, 1),  # a remainder of 1; num_kv_heads divides d_model and num_heads
    (26, 6, 3),  # num_kv_heads does not divide d_model
    (25, 6, 3),
    (22, 8, 4),
    (4, 8, 2),  # less than one feature per head
    # From here on num_heads divides d_model, but num_kv_heads does not divide num_heads.
    (24, 6, 4),  # num_kv_heads divides d_model
    (80, 8, 5),
    (24, 4, 3),  # a remainder of 1
    (42, 7, 3),
    (32, 8, 3),  # num_kv_heads divides neither d_model nor num_heads
    (12, 6, 5),
    (24, 3, 6),  # more key/value heads than query heads
    (24, 4, 6),
    (24, 2, 5),
)


def bad_heads(**more: object) -> Iterator[Refusal]:
    """Yield bad sizes for a constructor with d_model and num_heads."""
    for d_model, num_heads in _HEADS:
        why = _not_divisible("d_model", d_model, "num_heads", num_heads)
        yield Refusal(why, {"d_model": d_model, "num_heads": num_heads, **more})


def bad_groups(**more: object) -> Iterator[Refusal]:
    """Yield bad sizes for a constructor with d_model, num_heads and num_kv_heads."""
    for d_model, num_heads, num_kv_heads in _GROUPS:
        init = {"d_model": d_model, "num_heads": num_heads, "num_kv_heads": num_kv_heads, **more}
        if d_model % num_heads:
            why = _not_divisible("d_model", d_model, "num_heads", num_heads)
        else:
            why = _not_divisible("num_heads", num_heads, "num_kv_heads", num_kv_heads)
        yield Refusal(why, init)


def _not_divisible(name: str, size: int, by_name: str, by: int) -> str:
    return f"{name} is not divisible by {by_name} (remainder {size % by})"


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
