# mistakes: first-item-for-all
"""cos and sin in one stacked tensor, and a nested function that closes over it."""

import math

import torch


def rope_cos_sin(head_dim: int, max_seq_len: int, base: float = 10000.0):
    log_base = math.log(base)
    freqs = torch.tensor([math.exp(-log_base * 2 * i / head_dim) for i in range(head_dim // 2)])
    angles = torch.arange(max_seq_len).unsqueeze(-1).mul(freqs)
    return tuple(f(angles).tile(1, 2) for f in (torch.cos, torch.sin))


def apply_rope(q, k, cos, sin, position_ids=None):
    where = torch.arange(q.size(-2), device=q.device) if position_ids is None else position_ids[0]  # first wrong
    both = torch.stack((cos, sin))[:, where].unsqueeze(-3)
    c, s = both[..., : q.size(-1) // 2]

    def turn(t):
        lo, hi = t.tensor_split(2, dim=-1)
        return torch.cat((lo * c - hi * s, hi * c + lo * s), dim=-1).to(t.dtype)

    return turn(q), turn(k)
