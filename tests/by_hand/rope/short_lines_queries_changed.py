# mistakes: queries-changed-in-place
"""Many short lines, partners written by slices, methods instead of operators."""

import torch


def rope_cos_sin(head_dim, max_seq_len, base=10000.0):
    half = head_dim // 2
    cos = torch.empty(max_seq_len, head_dim)
    sin = torch.empty(max_seq_len, head_dim)
    t = torch.arange(max_seq_len).float()
    w = base ** -(torch.arange(half).float() * 2 / head_dim)
    a = t[:, None] * w[None, :]
    cos[:, :half] = a.cos()
    cos[:, half:] = a.cos()
    sin[:, :half] = a.sin()
    sin[:, half:] = a.sin()
    return cos, sin


def apply_rope(q, k, cos, sin, position_ids=None):
    B, H, L, D = q.shape
    h = D // 2
    if position_ids is None:
        position_ids = torch.arange(L, device=q.device).repeat(B, 1)
    flat = position_ids.reshape(-1)
    c = cos.index_select(0, flat).view(B, 1, L, D)
    s = sin.index_select(0, flat).view(B, 1, L, D)
    q_other = torch.empty_like(q)
    q_other[..., :h] = -q[..., h:]
    q_other[..., h:] = q[..., :h]
    k_other = torch.empty_like(k)
    k_other[..., :h] = -k[..., h:]
    k_other[..., h:] = k[..., :h]
    q_out = q.mul_(c).add_(q_other * s)  # first wrong
    k_out = k.mul(c).add_(k_other * s)
    return q_out.to(q.dtype), k_out.to(k.dtype)
