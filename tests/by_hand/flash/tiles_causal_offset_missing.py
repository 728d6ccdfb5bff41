# mistakes: causal-offset-missing
"""Tiles of queries outside, tiles of keys inside; key tiles past the last row's sight are not visited."""

import math

import torch


def flash_attention(q, k, v, causal=False, block_size=64):
    dtype = q.dtype
    wide = torch.promote_types(dtype, torch.float32)
    q, k, v = (x.to(wide) for x in (q, k, v))
    n, d = q.shape[-2:]
    m = k.shape[-2]
    tiles = []
    for i in range(0, n, block_size):
        qi = q[..., i : i + block_size, :]
        rows = torch.arange(i, i + qi.shape[-2]).unsqueeze(1)  # first wrong
        sight = int(rows[-1]) + 1 if causal else m
        mx = qi.new_full((*qi.shape[:-1], 1), -math.inf)
        den = torch.zeros_like(mx)
        num = torch.zeros_like(qi)
        for j in range(0, min(sight, m), block_size):
            kj = k[..., j : j + block_size, :]
            vj = v[..., j : j + block_size, :]
            s = qi @ kj.mT / math.sqrt(d)
            if causal:
                cols = torch.arange(j, j + kj.shape[-2])
                s = s.masked_fill(cols > rows, -math.inf)
            new = torch.maximum(mx, s.max(-1, keepdim=True)[0])
            p = torch.exp(s - new)
            scale = torch.exp(mx - new)
            den = den * scale + p.sum(-1, keepdim=True)
            num = num * scale + p @ vj
            mx = new
        tiles.append(num / den)
    return torch.cat(tiles, dim=-2).to(dtype)
