"""Write the rotation for one token of one head, and let torch.vmap add the other axes.

The code needs no broadcasting, but three nested vmaps add Python overhead to every operation. The
angles are made in float64 and rounded once, so the tables are more accurate.
"""

import torch
from torch import vmap


def one_row(t, rates):
    return torch.cos(t * rates).float(), torch.sin(t * rates).float()


def rope_cos_sin(head_dim, max_seq_len, base=10000.0):
    rates = torch.tensor([base ** (-2 * i / head_dim) for i in range(head_dim // 2)] * 2, dtype=torch.double)
    return vmap(one_row, in_dims=(0, None))(torch.arange(max_seq_len, dtype=torch.double), rates)


def one_token(x, c, s):
    first, second = x.tensor_split(2)
    return torch.hstack([first * c - second * s, second * c + first * s])


def apply_rope(q, k, cos, sin, position_ids=None):
    if position_ids is None:
        position_ids = torch.arange(q.shape[2]).unsqueeze(0).expand(q.shape[0], -1)
    half = cos.shape[-1] // 2
    c, s = cos[position_ids, :half], sin[position_ids, :half]
    over_tokens = vmap(one_token)
    over_heads = vmap(over_tokens, in_dims=(0, None, None))
    over_batch = vmap(over_heads)
    return over_batch(q, c, s).to(q.dtype), over_batch(k, c, s).to(k.dtype)
