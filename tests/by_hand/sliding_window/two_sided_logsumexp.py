# mistakes: causal-limit-missing-on-a-band
"""Weights as exp(score - logsumexp), absolute distances."""

import torch


def sliding_window_attention(q, k, v, window):
    b, h, n, d = q.shape
    where = torch.arange(n, device=q.device)
    gap = (where.view(-1, 1) - where.view(1, -1)).abs()  # first wrong
    logits = (q / d**0.5).matmul(k.transpose(2, 3))
    logits = logits.masked_fill(gap >= window, -1e9)
    p = torch.exp(logits - torch.logsumexp(logits, -1, keepdim=True))
    return p.matmul(v)
