# mistakes: entropy-axes-exchanged
"""einsum wherever something is summed."""

import torch


def attention_entropy(weights):
    safe = torch.where(weights == 0, 1.0, weights)
    per_row = -torch.einsum("...ij,...ij->...j", weights, safe.log())  # first wrong
    return per_row.mean(-1)


def mean_attention_distance(weights):
    n = weights.shape[-1]
    r = torch.arange(n, device=weights.device)
    gap = torch.abs(r - r[:, None]).to(weights.dtype)
    far = torch.einsum("...ij,ij->...", weights, gap)
    mass = torch.einsum("...ij->...", weights)
    return far / mass


def classify_head(weights):
    n = weights.shape[0]
    w = weights.double()
    before = torch.ones(n, n, dtype=w.dtype, device=w.device).tril(-1)
    if torch.einsum("ii->", w) / n > 0.5:
        return "positional"
    if torch.einsum("ij->j", w)[0] / n > 0.3:
        return "global"
    past = torch.einsum("ij,ij->", w, before)
    future = torch.einsum("ij,ji->", w, before)
    if past > 2 * future:
        return "backward"
    return "forward" if future > 2 * past else "mixed"
