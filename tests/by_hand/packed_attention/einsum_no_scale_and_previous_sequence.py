# mistakes: no-scale, previous-sequence-visible
"""einsum; the difference of two numbers may be 1."""

import torch
from torch import Tensor


def packed_attention(q: Tensor, k: Tensor, v: Tensor, cu_seqlens: Tensor) -> Tensor:
    step = torch.arange(q.size(0), device=q.device)
    owner = torch.searchsorted(cu_seqlens, step, side="right")
    back = owner.unsqueeze(1) - owner.unsqueeze(0)
    keep = (back < 2) & (step.unsqueeze(1) >= step.unsqueeze(0))  # also wrong
    sim = torch.einsum("i h d, j h d -> h i j", q, k)  # first wrong
    sim = torch.where(keep, sim, torch.finfo(sim.dtype).min)
    return torch.einsum("h i j, j h d -> i h d", sim.softmax(dim=-1), v)
