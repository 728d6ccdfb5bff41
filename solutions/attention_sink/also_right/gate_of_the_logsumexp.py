"""Compute ordinary attention, and scale each row down by sigmoid(logsumexp - sink) afterwards.

This works after any fast kernel that returns the logsumexp of a row, and it appends no column. The
sink changes only Lq * D numbers, but you must open rows without keys before the softmax and close
them again after it.
"""

import math

import torch


def sink_attention(q, k, v, sink_logits, mask=None):
    s = q @ k.mT / math.sqrt(q.shape[-1])
    some = None
    if mask is not None:
        some = mask.any(-1, keepdim=True)  # rows with at least one key
        s = s.masked_fill(~mask & some, -torch.inf)
    lse = s.logsumexp(-1, keepdim=True)
    out = torch.softmax(s, -1) @ v
    gate = torch.sigmoid(lse - sink_logits.to(q.dtype).view(-1, 1, 1))
    if some is not None:
        gate = gate * some
    return out * gate
