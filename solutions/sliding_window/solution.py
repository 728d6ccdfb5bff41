"""Sliding-window attention: a causal query sees only the last `window` keys, itself included.

    out = softmax(q k^T / sqrt(D) + mask) v    visible if 0 <= i - j < window

A token still learns about earlier tokens: every layer carries information window - 1 tokens
further. Beltagy et al. 2020, "Longformer"; Jiang et al. 2023, "Mistral 7B".
"""

import math

import torch


def sliding_window_attention(q, k, v, window):
    """Return attention [B, H, L, D] of q, k and v, each [B, H, L, D]; window is an int from 1."""
    length, head_dim = q.shape[-2:]
    if k.shape != q.shape or v.shape[-2] != length:
        raise ValueError(f"q, k and v differ: {list(q.shape)}, {list(k.shape)}, {list(v.shape)}")
    if window < 1:
        raise ValueError(f"window must be at least 1, because it counts the token itself: {window}")

    position = torch.arange(length, device=q.device)  # [L]
    distance = position[:, None] - position[None, :]  # [L, L], query minus key
    # the distances 0 .. window-1: `<= window` would be one key more
    recent = distance < window  # [L, L]
    causal = distance >= 0  # [L, L]
    mask = causal & recent  # [L, L]

    scores = q @ k.transpose(-2, -1)  # [B, H, L, L]
    scores = scores / math.sqrt(head_dim)
    # no row is empty, because every query sees itself
    scores = scores.masked_fill(~mask, float("-inf"))
    weights = torch.softmax(scores, dim=-1)  # [B, H, L, L]
    return weights @ v  # [B, H, L, D]
