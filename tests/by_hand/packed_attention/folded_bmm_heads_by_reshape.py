# mistakes: heads-reshaped-everywhere
"""Heads in front by reshape, bmm."""

import torch


def packed_attention(q, k, v, cu_seqlens):
    N, H, D = q.shape
    fold = lambda t: t.reshape(H, N, D)  # first wrong
    lengths = cu_seqlens[1:] - cu_seqlens[:-1]
    ids = torch.arange(lengths.shape[0], device=q.device).repeat_interleave(lengths)
    later = torch.ones(N, N, dtype=torch.bool).triu(1)
    hide = (ids[:, None] != ids[None, :]).logical_or(later)
    a = torch.bmm(fold(q), fold(k).transpose(1, 2)) / D**0.5
    a = torch.softmax(a.masked_fill(hide, -1e9), dim=-1)
    return torch.bmm(a, fold(v)).transpose(0, 1)
