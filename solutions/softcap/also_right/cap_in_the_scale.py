"""Fold the cap into the scale of the queries: one multiplication of q instead of two of the scores.

The scale and the cap touch Lq * D numbers instead of Lq * Lk, as in a fused kernel. The additive
mask costs one more tensor of the size of the mask.
"""

import math

import torch


def softcap_attention(q, k, v, cap, mask=None):
    shares = torch.tanh(torch.matmul(q * (1 / (cap * math.sqrt(q.shape[-1]))), k.transpose(2, 3)))
    logits = torch.mul(shares, cap)
    if mask is not None:
        logits = logits + torch.zeros_like(mask, dtype=q.dtype).masked_fill_(mask == 0, -1e9)
    return torch.nn.functional.softmax(logits, dim=3).matmul(v)
