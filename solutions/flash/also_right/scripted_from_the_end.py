"""Walk from the last keys to the first, with a step in TorchScript.

Causal rows can meet hidden blocks first, so every step needs an extra guard against -inf minus
-inf. TorchScript is deprecated in favour of torch.compile.
"""

import math
from typing import Tuple

import torch
from torch import Tensor


@torch.jit.script
def step(s: Tensor, v: Tensor, m: Tensor, l: Tensor, o: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
    new = torch.maximum(m, torch.amax(s, dim=-1))
    shift = torch.where(torch.isinf(new), torch.zeros_like(new), new)
    p = torch.exp(s - shift.unsqueeze(-1))
    c = torch.exp(m - shift)
    return new, c * l + p.sum(-1), c.unsqueeze(-1) * o + torch.matmul(p, v)


def flash_attention(q, k, v, causal=False, block_size=64):
    n_queries, n_keys = q.shape[2], k.shape[2]
    wide = torch.promote_types(q.dtype, torch.float32)
    m = torch.full(q.shape[:3], -math.inf, dtype=wide)
    l = torch.zeros(q.shape[:3], dtype=wide)
    o = torch.zeros(q.shape, dtype=wide)
    for end in range(n_keys, 0, -block_size):
        start = max(0, end - block_size)
        s = torch.matmul(q, k[:, :, start:end].permute(0, 1, 3, 2)) * (1.0 / math.sqrt(q.shape[3]))
        if causal:
            allowed = torch.ones(n_queries, end - start).tril(n_keys - n_queries - start) > 0
            s = s.masked_fill(~allowed, -math.inf)
        m, l, o = step(s.to(wide), v[:, :, start:end].to(wide), m, l, o)
    return (o / l.unsqueeze(-1)).to(q.dtype)
