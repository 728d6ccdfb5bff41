# mistakes: entropy-in-bits, distance-from-the-start
"""In as few lines as it goes."""

import torch


def attention_entropy(weights): return -(weights * (weights + (weights == 0)).log2()).sum(-1).mean(-1)  # first wrong


def mean_attention_distance(weights): return (weights * torch.arange(weights.size(-1), device=weights.device)).sum((-1, -2)) / weights.sum((-1, -2))  # also wrong


def classify_head(weights):
    d, c, b, a = weights.diagonal().mean(), weights[:, 0].mean(), weights.tril(-1).sum(), weights.triu(1).sum()
    return "positional" if d > 0.5 else "global" if c > 0.3 else "backward" if b > 2 * a else "forward" if a > 2 * b else "mixed"
