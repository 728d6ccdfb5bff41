"""Loop over batch and heads, and keep a mean that is already divided, with its logsumexp.

A step needs the memory of only one head, but there are batch times heads more small operations.
The logsumexp takes a second exponential of every score.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor


def single_head(q: Tensor, k: Tensor, v: Tensor, causal: bool, block_size: int) -> Tensor:
    """q [Lq, D], k and v [Lk, D] -> [Lq, D]."""
    (n, d), t = q.shape, k.shape[0]
    mean = torch.zeros(n, d, dtype=q.dtype)
    lse = torch.full((n,), float("-inf"), dtype=q.dtype)
    for j in range(0, t, block_size):
        s = q @ k[j : j + block_size].t() / math.sqrt(d)
        if causal:
            hidden = torch.ones_like(s, dtype=torch.bool).triu(diagonal=t - n - j + 1)
            s = s.masked_fill(hidden, float("-inf"))
        new = torch.logaddexp(lse, torch.logsumexp(s, dim=1))
        mean = torch.exp(lse - new)[:, None] * mean + torch.exp(s - new[:, None]) @ v[j : j + block_size]
        lse = new
    return mean


def flash_attention(q: Tensor, k: Tensor, v: Tensor, causal: bool = False, block_size: int = 64) -> Tensor:
    dtype = q.dtype
    wide = torch.promote_types(dtype, torch.float32)
    q, k, v = (x.to(wide) for x in (q, k, v))
    batch = [torch.stack([single_head(*head, causal, block_size) for head in zip(*item)]) for item in zip(q, k, v)]
    return torch.stack(batch).to(dtype)
