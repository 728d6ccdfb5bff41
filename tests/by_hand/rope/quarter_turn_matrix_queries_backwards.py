# mistakes: queries-backwards
"""The partner of every feature comes from a constant [D, D] matrix, multiplied in with einsum."""

import torch
from torch import einsum


def rope_cos_sin(head_dim, max_seq_len, base=10000.0):
    inv = 1.0 / base ** (2 * torch.arange(head_dim // 2).float() / head_dim)
    ang = einsum("t,i->ti", torch.arange(max_seq_len).float(), inv)
    ang = ang[:, None, :].expand(-1, 2, -1).reshape(max_seq_len, head_dim)
    return torch.cos(ang), torch.sin(ang)


def quarter_turn(d, like):
    """J with x J = (-b, a) for x = (a, b)."""
    one = torch.eye(d // 2, dtype=like.dtype, device=like.device)
    nil = torch.zeros_like(one)
    return torch.cat((torch.cat((nil, one), 1), torch.cat((-one, nil), 1)), 0)


def apply_rope(q, k, cos, sin, position_ids=None):
    b, _, n, d = q.shape
    idx = position_ids if position_ids is not None else torch.arange(n, device=q.device).expand(b, n)
    c, s = cos[idx].unsqueeze(1), sin[idx].unsqueeze(1)
    J = quarter_turn(d, q)
    q_partner = einsum("bhld,ed->bhle", q, J)  # first wrong
    k_partner = einsum("bhld,de->bhle", k, J)
    return (q * c + q_partner * s).to(q.dtype), (k * c + k_partner * s).to(k.dtype)
