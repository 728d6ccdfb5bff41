# mistakes: sink-with-the-wrong-sign
"""Ordinary attention, then a gate from the logsumexp of the row."""

import math

import torch


def sink_attention(q, k, v, sink_logits, mask=None):
    s = torch.einsum("bhid,bhjd->bhij", q, k) / math.sqrt(q.size(3))
    if mask is not None:
        s = torch.where(mask, s, -1e9)
    lse = torch.logsumexp(s, dim=3, keepdim=True)
    offset = sink_logits.to(s.dtype).reshape(1, -1, 1, 1)
    gate = torch.sigmoid(lse + offset)  # first wrong
    return torch.matmul(torch.exp(s - lse) * gate, v)
