"""Cut the keys and values into overlapping windows with unfold, which makes views, not copies.

The scores are [B, H, L, window] instead of [B, H, L, L], which saves memory if the window is short.
The matrix products copy the windows, so each key is in memory `window` times.
"""

import torch
import torch.nn.functional as F


def sliding_window_attention(q, k, v, window):
    length, dim = q.shape[2], q.shape[3]
    width = min(window, length)  # no query has more than `length` keys
    keys = F.pad(k, (0, 0, width - 1, 0)).unfold(2, width, 1)  # [B, H, L, D, width]
    values = F.pad(v, (0, 0, width - 1, 0)).unfold(2, width, 1)
    scores = torch.einsum("bhld,bhldw->bhlw", q, keys) * dim**-0.5
    # column c of query i is key i - width + 1 + c; keys before key 0 are padding
    key = torch.arange(length, device=q.device)[:, None] - (width - 1) + torch.arange(width, device=q.device)
    scores = scores.masked_fill(key < 0, float("-inf"))
    return torch.einsum("bhlw,bhldw->bhld", scores.softmax(-1), values)
