"""Tile the queries too, and skip the tiles beyond the diagonal, as FlashAttention-2 does.

The scores of a step are smaller, and a causal call with as many queries as keys and many tiles
saves almost half of the FLOPs. The Python loop has more and smaller steps.
"""

import torch


def one_tile(q, k, v, first_query, block_size, causal, ahead):
    rows = torch.arange(q.shape[2], device=q.device).unsqueeze(1) + first_query + ahead
    seen = min(k.shape[2], first_query + q.shape[2] + ahead) if causal else k.shape[2]
    m = torch.full_like(q[..., :1], torch.finfo(q.dtype).min)
    l = torch.zeros_like(m)
    o = torch.zeros_like(q)
    for j in range(0, seen, block_size):
        kj = k[:, :, j : j + block_size]
        vj = v[:, :, j : j + block_size]
        s = torch.einsum("bhid,bhjd->bhij", q, kj)
        if causal:
            cols = torch.arange(j, j + kj.shape[2], device=q.device)
            s = torch.where(cols <= rows, s, torch.finfo(s.dtype).min)
        m_next = torch.maximum(m, s.max(dim=-1, keepdim=True).values)
        p = (s - m_next).exp()
        alpha = (m - m_next).exp()
        l = l * alpha + p.sum(-1, keepdim=True)
        o = o * alpha + torch.einsum("bhij,bhjd->bhid", p, vj)
        m = m_next
    return o / l


def flash_attention(q, k, v, causal=False, block_size=64):
    dtype = q.dtype
    wide = torch.promote_types(dtype, torch.float32)
    q, k, v = (x.to(wide) for x in (q, k, v))
    q = q * q.shape[-1] ** -0.5
    ahead = k.shape[2] - q.shape[2]
    tiles = [one_tile(q[:, :, i : i + block_size], k, v, i, block_size, causal, ahead) for i in range(0, q.shape[2], block_size)]
    return torch.cat(tiles, dim=2).to(dtype)
