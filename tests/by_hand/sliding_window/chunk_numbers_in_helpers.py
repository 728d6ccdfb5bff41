# mistakes: blocks-instead-of-a-window
"""One helper for each step; chunk numbers of queries and keys are compared."""

import torch


def may_see(n, size, device):
    steps = torch.arange(n, device=device)
    chunk = torch.div(steps, size, rounding_mode="floor")
    same_chunk = chunk.unsqueeze(1) == chunk.unsqueeze(0)  # first wrong
    not_later = steps.unsqueeze(1) >= steps.unsqueeze(0)
    return torch.logical_and(same_chunk, not_later)


def compare(a, b):
    return torch.matmul(a, b.mT).div(a.shape[-1] ** 0.5)


def sliding_window_attention(q, k, v, window):
    energy = compare(q, k)
    allowed = may_see(q.shape[2], window, q.device)
    energy = torch.where(allowed, energy, torch.finfo(energy.dtype).min)
    return torch.matmul(torch.softmax(energy, -1), v)
