# mistakes: cap-before-the-scale
"""A small class holds the cap."""

import torch


class SoftCap:
    def __init__(self, cap):
        self.cap = cap

    def __call__(self, x):
        return torch.tanh(x / self.cap) * self.cap  # first wrong


def softcap_attention(q, k, v, cap, mask=None):
    dots = q.matmul(k.mT)
    logits = SoftCap(cap)(dots)
    logits = logits / q.shape[-1] ** 0.5
    if mask is not None:
        logits = logits + torch.zeros_like(mask, dtype=logits.dtype).masked_fill(~mask, -1e9)
    return logits.softmax(-1).matmul(v)
