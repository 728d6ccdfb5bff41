# mistakes: causal-from-column-zero
"""Einsum; who sees whom is asked of two rows of positions."""

import torch
from torch import einsum, nn


class CachedMultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, bias=True):
        super().__init__()
        assert d_model % num_heads == 0, "d_model must be a multiple of num_heads"
        self.heads = num_heads
        self.to_q = nn.Linear(d_model, d_model, bias=bias)
        self.to_k = nn.Linear(d_model, d_model, bias=bias)
        self.to_v = nn.Linear(d_model, d_model, bias=bias)
        self.to_out = nn.Linear(d_model, d_model, bias=bias)

    def forward(self, x, past_kv=None, use_cache=False):
        b, n, m = x.shape
        q = self.to_q(x).unflatten(-1, (self.heads, -1))
        new_k = self.to_k(x).unflatten(-1, (self.heads, -1)).movedim(1, 2)
        new_v = self.to_v(x).unflatten(-1, (self.heads, -1)).movedim(1, 2)
        if past_kv is None:
            k, v = new_k, new_v
        else:
            k = torch.cat((past_kv[0], new_k), dim=-2)
            v = torch.cat((past_kv[1], new_v), dim=-2)
        sim = einsum("bihd,bhjd->bhij", q, k) * (m // self.heads) ** -0.5
        later = torch.arange(k.shape[2], device=x.device) > torch.arange(n, device=x.device)[:, None]  # first wrong
        sim = sim.masked_fill(later, -torch.inf)
        y = einsum("bhij,bhjd->bihd", sim.softmax(dim=-1), v)
        y = self.to_out(y.flatten(2))
        if use_cache:
            return y, (k, v)
        return y
