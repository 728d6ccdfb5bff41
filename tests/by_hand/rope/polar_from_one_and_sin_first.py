# mistakes: positions-from-one, sin-cos-returned
"""Tables as the two parts of unit complex numbers, positions counted with cumsum, lookups by F.embedding."""

import torch
import torch.nn.functional as F


def rope_cos_sin(head_dim, max_seq_len, base=10000.0):
    rate = 1 / base ** torch.linspace(0, (head_dim - 2) / head_dim, head_dim // 2, dtype=torch.float64)
    t = torch.ones(max_seq_len, dtype=torch.float64).cumsum(0)  # first wrong
    angle = torch.outer(t, rate)
    z = torch.polar(torch.ones_like(angle), angle)
    z = torch.cat((z, z), 1)
    return z.imag.float(), z.real.float()  # also wrong


def neg_swap(x):
    first, second = x.unflatten(-1, (2, -1)).unbind(-2)
    return torch.cat((second.neg(), first), -1)


def apply_rope(q, k, cos, sin, position_ids=None):
    if position_ids is None:
        position_ids = torch.arange(q.shape[2], device=q.device)[None]
    cos, sin = F.embedding(position_ids, cos)[:, None], F.embedding(position_ids, sin)[:, None]
    return torch.addcmul(q * cos, neg_swap(q), sin).to(q.dtype), torch.addcmul(k * cos, neg_swap(k), sin).to(k.dtype)
