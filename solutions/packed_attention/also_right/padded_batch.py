"""Scatter the tokens into a padded batch, attend there, and gather the real tokens again.

The scores take S * longest^2 entries instead of total^2, which is less for many sequences of
similar length, and more if a single sequence is much longer than the others. In the padded batch,
the causal mask alone is enough, because the padding comes after all real tokens.
"""

import math

import torch


def packed_attention(q, k, v, cu_seqlens):
    total, heads, dim = q.shape
    lengths = cu_seqlens.diff()
    longest = int(lengths.max())
    row = torch.arange(lengths.numel(), device=q.device).repeat_interleave(lengths)
    column = torch.arange(total, device=q.device) - cu_seqlens[row]

    def padded(x):
        batch = x.new_zeros(lengths.numel(), longest, heads, dim)
        return batch.index_put((row, column), x).transpose(1, 2)

    scores = padded(q) @ padded(k).mT / math.sqrt(dim)
    future = torch.ones(longest, longest, dtype=torch.bool, device=q.device).triu(1)
    weights = scores.masked_fill(future, -math.inf).softmax(dim=-1)
    out = weights @ padded(v)  # [S, H, longest, D]
    return out.transpose(1, 2)[row, column]
