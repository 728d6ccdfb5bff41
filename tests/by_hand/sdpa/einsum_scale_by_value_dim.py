# mistakes: scale-by-value-dim
"""einsum for both products, the scale on the queries, an additive mask of finfo.min."""

import torch


def scaled_dot_product_attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
    q = q * v.size(-1) ** -0.5  # first wrong
    sim = torch.einsum("... i d, ... j d -> ... i j", q, k)
    if mask is not None:
        bias = torch.zeros(mask.shape, dtype=sim.dtype, device=sim.device)
        sim = sim + bias.masked_fill(~mask, torch.finfo(sim.dtype).min)
    attn = sim.softmax(dim=-1)
    return torch.einsum("... i j, ... j d -> ... i d", attn, v)
