# mistakes: scale-by-window
"""Batch and heads folded for bmm, scale and mask in one baddbmm."""

import math

import torch


def sliding_window_attention(q, k, v, window):
    B, H, L, D = q.shape
    fold = lambda t: t.reshape(B * H, L, D)
    rows = torch.arange(L, device=q.device)[:, None]
    cols = torch.arange(L, device=q.device)[None]
    closed = (cols > rows) | (cols <= rows - window)
    bias = q.new_zeros(L, L).masked_fill(closed, -math.inf)
    scores = torch.baddbmm(bias.expand(B * H, L, L), fold(q), fold(k).transpose(1, 2), alpha=1 / math.sqrt(window))  # first wrong
    return torch.bmm(scores.softmax(2), fold(v)).reshape(B, H, L, D)
