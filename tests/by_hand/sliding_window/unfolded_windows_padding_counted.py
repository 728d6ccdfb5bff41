# mistakes: padded-keys-counted
"""Keys and values cut into overlapping windows with unfold after zeros in front."""

import torch
import torch.nn.functional as F


def sliding_window_attention(q, k, v, window):
    width = window
    keys = F.pad(k, (0, 0, width - 1, 0)).unfold(2, width, 1)
    values = F.pad(v, (0, 0, width - 1, 0)).unfold(2, width, 1)
    s = torch.einsum("bhld,bhldw->bhlw", q, keys) / q.shape[-1] ** 0.5  # first wrong
    p = s.softmax(dim=-1)
    return torch.einsum("bhlw,bhldw->bhld", p, values)
