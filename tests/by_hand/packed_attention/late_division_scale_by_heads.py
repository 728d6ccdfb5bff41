# mistakes: scale-by-number-of-heads
"""Takes the wrong axis for the width; divides by the sum at the end."""

import torch


def packed_attention(q, k, v, cu_seqlens):
    total, width = q.shape[:2]
    order = torch.arange(total, device=q.device)
    start = cu_seqlens[torch.searchsorted(cu_seqlens, order, right=True) - 1]
    inside = (order[None] >= start[:, None]) & (order[None] <= order[:, None])
    s = torch.einsum("ihd,jhd->hij", q, k) / width**0.5  # first wrong
    s = torch.where(inside, s, torch.finfo(s.dtype).min)
    top = s.amax(dim=-1, keepdim=True).detach()
    e = torch.exp(s - top)
    out = torch.einsum("hij,jhd->ihd", e, v)
    return out / e.sum(-1).t().unsqueeze(-1)
