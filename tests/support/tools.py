"""Helpers for tests of the tools."""

from __future__ import annotations

import runpy
from typing import Any

import torch
from torch import Tensor

from attn_drill.tools.attention_heads import HeadFacts, describe, heads_of
from tests.support.paths import ROOT


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


def reference(folder: str) -> dict[str, Any]:
    """Return the names that the reference of a challenge defines."""
    return runpy.run_path(str(ROOT / "solutions" / folder / "solution.py"))
