"""Recompute the attention in the backward pass with torch.utils.checkpoint to store less.

Training keeps q, k and v, but not the repeated heads, the scores and the weights. The price is a
second forward pass of the attention, and calls without gradients gain nothing.
"""

import math
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class CachedGroupedQueryAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, bias=False):
        super().__init__()
        assert d_model % num_heads == 0 and num_heads % num_kv_heads == 0, (
            d_model,
            num_heads,
            num_kv_heads,
        )
        self.h, self.g, self.d = num_heads, num_kv_heads, d_model // num_heads
        self.q_proj = nn.Linear(d_model, d_model, bias=bias)
        self.kv_proj = nn.Linear(d_model, 2 * self.g * self.d, bias=bias)
        self.o_proj = nn.Linear(d_model, d_model, bias=bias)

    def attend(self, q, k, v):
        n = self.h // self.g
        k, v = (t[:, :, None].expand(-1, -1, n, -1, -1).flatten(1, 2) for t in (k, v))
        s = (q @ k.transpose(-2, -1)).float() / math.sqrt(self.d)
        Lq, Lk = s.shape[-2:]
        s += torch.full((Lq, Lk), float("-inf"), device=q.device).triu(Lk - Lq + 1)
        return s.softmax(-1).to(v.dtype) @ v

    def forward(self, x, past_kv=None, use_cache=False):
        q = self.q_proj(x).unflatten(-1, (self.h, self.d)).transpose(1, 2)
        k, v = self.kv_proj(x).unflatten(-1, (2, self.g, self.d)).permute(2, 0, 3, 1, 4)
        pieces = [past_kv] if past_kv is not None else []
        pieces.append((k, v))
        k, v = (torch.cat(ts, 2) for ts in zip(*pieces))
        o = (
            checkpoint(self.attend, q, k, v, use_reentrant=False)
            if torch.is_grad_enabled()
            else self.attend(q, k, v)
        )
        o = self.o_proj(o.transpose(1, 2).flatten(2))
        if not use_cache:
            return o
        return o, (k, v)
