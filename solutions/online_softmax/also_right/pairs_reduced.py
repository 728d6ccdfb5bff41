"""Compute a pair (maximum, sum) for every block on its own, and merge the pairs with reduce.

The merge is associative, so the same function serves a tree of machines. It corrects both sums,
which is one more exp for each block than the reference needs.
"""

from functools import reduce

import torch


def pair(block):
    m = block.detach().amax(dim=-1).nan_to_num(neginf=torch.finfo(block.dtype).min)
    return m, torch.exp(block - m[..., None]).sum(dim=-1)


def merged(a, b):
    (m_a, l_a), (m_b, l_b) = a, b
    m = torch.maximum(m_a, m_b)
    return m, l_a * torch.exp(m_a - m) + l_b * torch.exp(m_b - m)


def online_softmax(blocks):
    stream = list(blocks)
    dtype = stream[0].dtype
    stream = [block.to(torch.promote_types(dtype, torch.float32)) for block in stream]
    m, total = reduce(merged, map(pair, stream))
    rows = torch.cat(stream, dim=-1)
    return ((rows - m.unsqueeze(-1)).exp() / total.clamp(min=1e-9).unsqueeze(-1)).to(dtype)
