"""Compute the slopes in a recursion over Python lists, and join bias and causal mask in one tensor.

The recursion comes from the code of the paper. One addition applies bias and mask together, and a
model can build the joined tensor once for all layers, but it takes H * L * L entries of memory.
"""

import math

import torch


def slopes_list(n):
    if math.log2(n).is_integer():
        start = 2 ** (-(2 ** -(math.log2(n) - 3)))
        return [start * start**i for i in range(n)]
    closest = 2 ** math.floor(math.log2(n))
    return slopes_list(closest) + slopes_list(2 * closest)[0::2][: n - closest]


def alibi_slopes(num_heads):
    return torch.tensor(slopes_list(num_heads), dtype=torch.float32)


def alibi_attention(q, k, v):
    b, h, n, d = q.shape
    context = torch.arange(n, device=q.device)[:, None]
    memory = torch.arange(n, device=q.device)[None, :]
    relative = -torch.abs(memory - context).float().expand(h, n, n)
    alibi = alibi_slopes(h).to(q.device).view(h, 1, 1) * relative
    alibi = alibi.masked_fill(memory > context, float("-inf")).to(q.dtype)
    att = torch.einsum("bhid,bhjd->bhij", q, k) / math.sqrt(d) + alibi
    return torch.einsum("bhij,bhjd->bhid", att.softmax(dim=-1), v)
