"""Attention weights and their facts for tests of `heads`."""

import torch
from torch import Tensor

from attn_drill.tools.attention_heads import HeadFacts, describe, heads_of


def facts(
    weights: Tensor | list[list[float]], name: str = "", size: int = 1 << 13
) -> list[HeadFacts]:
    """Return the facts about one tensor, with pictures of at most `size` rows and columns."""
    tensor = torch.tensor(weights, dtype=torch.float64) if isinstance(weights, list) else weights
    return [describe(head, lambda _: (size, size)) for head in heads_of({name: tensor})]


def random_weights(*leading: int, length: int = 7, seed: int = 0) -> Tensor:
    """Return rows of a softmax, float64 [..., L, L]."""
    draw = torch.Generator().manual_seed(seed)
    scores = torch.randn(*leading, length, length, generator=draw, dtype=torch.float64)
    return torch.softmax(2 * scores, dim=-1)
