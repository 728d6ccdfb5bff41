# mistakes: scale-by-head-dim, mask-dropped-for-long-windows
"""einsum everywhere; a shortcut for windows that are as long as the sequence."""

import torch


def sliding_window_attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, window: int) -> torch.Tensor:
    n = q.size(2)
    sim = torch.einsum("b h i d, b h j d -> b h i j", q, k)
    sim = sim / q.size(3)  # first wrong
    if window < n:  # also wrong
        band = torch.ones(n, n, device=q.device).tril().triu(1 - window).bool()
        sim = torch.where(band, sim, torch.finfo(sim.dtype).min)
    attn = sim.softmax(dim=-1)
    return torch.einsum("b h i j, b h j d -> b h i d", attn, v)
