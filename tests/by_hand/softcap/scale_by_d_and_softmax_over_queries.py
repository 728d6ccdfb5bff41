# mistakes: scale-by-head-dim, softmax-over-queries
"""einsum with words for the axes."""

import torch


def softcap_attention(q, k, v, cap, mask=None):
    sim = torch.einsum("b h i d, b h j d -> b h i j", q, k) / q.size(3)  # first wrong
    sim = cap * torch.tanh(sim / cap)
    if mask is not None:
        sim = sim.masked_fill(mask == 0, -1e9)
    attn = torch.nn.functional.softmax(sim, dim=2)  # also wrong
    return torch.einsum("b h i j, b h j d -> b h i d", attn, v)
