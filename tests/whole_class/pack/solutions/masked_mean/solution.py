"""Masked mean: the mean of the real tokens of each sequence."""

import torch


def masked_mean(x, mask=None):
    """Return [B, D] for x [B, L, D] and the mask [B, L]."""
    if mask is None:
        mask = torch.ones(x.shape[:2], dtype=torch.bool)
    real = mask[:, :, None].to(x.dtype)
    total = (x * real).sum(dim=1)
    return total / real.sum(dim=1)
