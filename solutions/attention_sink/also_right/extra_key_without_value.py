"""Append a key and a value of zeros, and add the sink to the score of that key as a bias.

The last two products and the softmax are then those of plain attention with Lk + 1 keys. Keys and
values are copied once, and the bias has an entry for every pair.
"""

import torch
import torch.nn.functional as F


def sink_attention(q, k, v, sink_logits, mask=None):
    batch, heads, queries, dim = q.shape
    keys = k.shape[2]
    bias = torch.zeros(batch, heads, queries, keys + 1, dtype=q.dtype, device=q.device)
    if mask is not None:
        bias[..., :keys].masked_fill_(mask.logical_not(), -1e9)
    column = F.one_hot(torch.tensor(keys, device=q.device), keys + 1).to(q.dtype)
    bias = bias + sink_logits.to(q.dtype)[:, None, None] * column
    scores = torch.matmul(q / dim**0.5, F.pad(k, (0, 0, 0, 1)).transpose(2, 3)) + bias
    return torch.matmul(scores.softmax(dim=-1), F.pad(v, (0, 0, 0, 1)))
