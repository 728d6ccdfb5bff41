# mistakes: queries-scaled-in-place
"""Many short lines."""

import torch


def sliding_window_attention(q, k, v, window):
    n = q.shape[2]
    root = q.shape[3] ** 0.5
    q.div_(root)  # first wrong
    kt = torch.movedim(k, -1, -2)
    dots = torch.matmul(q, kt)
    t = torch.arange(n)
    old = t[None, :] + window <= t[:, None]
    new = t[None, :] > t[:, None]
    hide = torch.logical_or(old, new)
    bias = torch.zeros(n, n, dtype=dots.dtype)
    bias[hide] = -1e9
    dots = dots + bias
    w = torch.nn.functional.log_softmax(dots, -1).exp()
    return torch.matmul(w, v)
