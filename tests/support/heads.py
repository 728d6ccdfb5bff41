"""Attention weights and their facts for tests of `heads`."""

import torch
from torch import Tensor

from trainer.tools.attention_heads import HeadFacts, count_heads, facts_of


def full_size(length: int) -> tuple[int, int]:
    """Return a picture size with a cell for every weight."""
    return length, length


def facts(
    weights: Tensor | list[list[float]], name: str = "", size: int | None = None
) -> list[HeadFacts]:
    """Return the facts about one tensor, with pictures of `size` cells."""
    tensor = torch.tensor(weights, dtype=torch.float64) if isinstance(weights, list) else weights
    count = count_heads({name: tensor})
    return list(
        facts_of(
            {name: tensor},
            range(count),
            range(count),
            full_size if size is None else lambda _: (size, size),
        )
    )


def random_weights(*leading: int, length: int = 7, seed: int = 0) -> Tensor:
    """Return rows of a softmax, float64 [..., L, L]."""
    draw = torch.Generator().manual_seed(seed)
    return torch.softmax(
        2 * torch.randn(*leading, length, length, generator=draw, dtype=torch.float64), dim=-1
    )
