"""Loop over the distances 0 .. window-1 and compare all queries with the keys at that distance.

The scores take L * window entries, and nothing beyond the window is computed. The number of
operations grows with the window, so this is slow for windows of thousands of tokens.
"""

import torch


def back(x, distance):
    """Move the tokens later, and fill the beginning with zeros."""
    moved = torch.zeros_like(x)
    moved[:, :, distance:] = x[:, :, : x.shape[2] - distance]
    return moved


def sliding_window_attention(q, k, v, window):
    n = q.shape[-2]
    reach = range(min(window, n))
    logits = torch.stack([(q * back(k, d)).sum(-1) for d in reach], dim=-1) / q.shape[-1] ** 0.5
    too_far = torch.arange(len(reach), device=q.device) > torch.arange(n, device=q.device).unsqueeze(1)
    p = torch.where(too_far, -torch.inf, logits).softmax(-1)
    return sum(p[..., d : d + 1] * back(v, d) for d in reach)
