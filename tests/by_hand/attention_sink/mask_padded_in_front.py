# mistakes: mask-shifted-by-the-sink
"""The mask gets a column for the sink on the wrong side; rows are filled into one table."""

import torch


def sink_attention(q, k, v, sink_logits, mask=None):
    b, h, n, d = q.shape
    m = k.shape[-2]
    dots = torch.matmul(q, k.transpose(-1, -2)) / d**0.5
    if mask is not None:
        seen = torch.ones(*mask.shape[:-1], m + 1, dtype=torch.bool, device=q.device)
        seen[..., 1:] = mask
        dots = torch.where(seen[..., :m], dots, -torch.inf)  # first wrong
    table = q.new_empty(b, h, n, m + 1)
    table[..., :m] = dots
    table[..., m:] = sink_logits.to(q.dtype)[:, None, None]
    return table.softmax(dim=3)[..., :m].matmul(v)
