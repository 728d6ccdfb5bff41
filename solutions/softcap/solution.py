"""Attention with soft-capped scores: a smooth function keeps every score between -cap and cap.

    out = softmax(cap * tanh(q k^T / (sqrt(D) cap)) + mask) v

Near 0 the capped score is the score itself; far out it approaches ±cap. So no score can grow
without bound in training. Gemma Team 2024, "Gemma 2", section 2: a cap of 50.
"""

import math

import torch


def softcap_attention(q, k, v, cap, mask=None):
    """Return attention [B, H, Lq, D] of q [B, H, Lq, D] to k and v, each [B, H, Lk, D].

    cap is a number above 0. mask bool broadcastable to [B, H, Lq, Lk], True = may attend.
    """
    head_dim = q.shape[-1]
    if k.shape[-1] != head_dim:
        raise ValueError(f"q has head dim {head_dim}, k has head dim {k.shape[-1]}")
    if v.shape[-2] != k.shape[-2]:
        raise ValueError(f"there are {k.shape[-2]} keys, but {v.shape[-2]} values")
    if cap <= 0:
        raise ValueError(f"cap must be above 0; it is {cap}")

    scores = q @ k.transpose(-2, -1)  # [B, H, Lq, Lk]
    scores = scores / math.sqrt(head_dim)
    # division and multiplication by the cap: small scores stay as they are
    share = torch.tanh(scores / cap)  # [B, H, Lq, Lk], the share of the cap, -1 .. 1
    capped = cap * share
    if mask is not None:
        # after the cap: tanh would turn -inf into -cap
        capped = capped.masked_fill(~mask, float("-inf"))
    weights = torch.softmax(capped, dim=-1)  # [B, H, Lq, Lk]
    return weights @ v  # [B, H, Lq, D]
