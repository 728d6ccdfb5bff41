# mistakes: maximum-of-the-whole-tensor
"""Softmax in parts, divided by its sum only after the values are mixed."""

import torch


def scaled_dot_product_attention(q, k, v, mask=None):
    logits = (q / q.shape[-1] ** 0.5).matmul(k.mT)
    if mask is not None:
        logits = logits.masked_fill(mask == 0, -torch.inf)
    shifted = logits - torch.max(logits)  # first wrong
    numerators = shifted.exp()
    mixed = numerators @ v
    return mixed / numerators.sum(-1).unsqueeze(-1)
