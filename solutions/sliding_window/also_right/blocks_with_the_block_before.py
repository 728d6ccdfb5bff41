"""Cut the sequence into blocks as long as the window: a query needs its own and the previous one.

The scores take L * 2 * window entries, and all products are ordinary matrix products of blocks, so
time and memory grow linearly with L. The bookkeeping is longer, about half of the scores are still
masked, and a length that the window does not divide must be padded.
"""

import math

import torch
import torch.nn.functional as F


def sliding_window_attention(q, k, v, window):
    batch, heads, length, dim = q.shape
    size = min(window, length)
    count = -(-length // size)  # rounded up
    rest = count * size - length

    def blocks(x):
        return F.pad(x, (0, 0, 0, rest)).reshape(batch, heads, count, size, dim)

    def with_block_before(x):
        own = blocks(x)
        before = F.pad(own[:, :, :-1], (0, 0, 0, 0, 1, 0))
        return torch.cat([before, own], dim=3)  # [B, H, count, 2 * size, D]

    scores = blocks(q) @ with_block_before(k).mT / math.sqrt(dim)
    place = torch.arange(count * size, device=q.device).reshape(count, size, 1)
    key = torch.arange(-size, size, device=q.device) + size * torch.arange(count, device=q.device)[:, None, None]
    allowed = (key <= place) & (key > place - window) & (key >= 0)
    weights = scores.masked_fill(~allowed, torch.finfo(scores.dtype).min).softmax(dim=-1)
    out = weights @ with_block_before(v)
    return out.reshape(batch, heads, count * size, dim)[:, :, :length]
