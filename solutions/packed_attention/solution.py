"""Attention over packed sequences: many sequences in one tensor, without padding.

    out = softmax(q k^T / sqrt(D) + mask) v    visible if the same sequence and j <= i

Sequence s has the tokens cu_seqlens[s] .. cu_seqlens[s+1] - 1, so a mask of blocks on the diagonal
replaces a batch axis. Krell et al. 2021, "Efficient Sequence Packing without Cross-contamination".
"""

import math

import torch


def packed_attention(q, k, v, cu_seqlens):
    """Return attention [total, H, D] of q, k, v [total, H, D]; cu_seqlens int64 [S+1]."""
    total, _, head_dim = q.shape
    if k.shape != q.shape or v.shape != q.shape:
        raise ValueError(f"q, k and v differ: {list(q.shape)}, {list(k.shape)}, {list(v.shape)}")

    position = torch.arange(total, device=q.device)  # [total]
    boundaries = cu_seqlens.contiguous()  # searchsorted would copy them, with a warning
    # right=True: a token at a boundary belongs to the sequence that begins there
    sequence = torch.searchsorted(boundaries, position, right=True)  # [total], from 1
    same_sequence = sequence[:, None] == sequence[None, :]  # [total, total], query by key
    causal = position[:, None] >= position[None, :]  # [total, total]
    mask = same_sequence & causal

    queries = q.transpose(0, 1)  # [H, total, D], because the heads are the batch here
    keys = k.transpose(0, 1)
    values = v.transpose(0, 1)
    scores = queries @ keys.transpose(-2, -1)  # [H, total, total]
    scores = scores / math.sqrt(head_dim)
    # no row is empty, because every token sees itself
    scores = scores.masked_fill(~mask, float("-inf"))
    weights = torch.softmax(scores, dim=-1)  # [H, total, total]
    out = weights @ values  # [H, total, D]
    return out.transpose(0, 1)  # [total, H, D]
