"""Fold batch and heads for bmm, and take the exponential of log_softmax.

The folded tensors have three dims, which old kernels require. A mask must be expanded to the full
size before folding, which copies it.
"""

import torch


def softcap_attention(q, k, v, cap, mask=None):
    batch, heads, queries, dim = q.shape
    keys = k.shape[2]
    folded = [x.reshape(batch * heads, -1, dim) for x in (q, k, v)]
    s = torch.bmm(folded[0], folded[1].permute(0, 2, 1)) / dim**0.5
    s = s.div(cap).tanh().mul(cap)
    if mask is not None:
        hidden = mask.logical_not().expand(batch, heads, queries, keys)
        s = s.masked_fill(hidden.reshape(batch * heads, queries, keys), float("-inf"))
    weights = torch.log_softmax(s, 2).exp()
    return torch.bmm(weights, folded[2]).view(batch, heads, queries, dim)
