# mistakes: partner-detached
"""The partner is rolled into place and gets its sign from a row of -1 and +1 laid into the sine."""

import torch


def rope_cos_sin(head_dim, max_seq_len, base=10000.0):
    column = torch.arange(head_dim).remainder(head_dim // 2)
    speed = torch.tensor(float(base)).pow(column.mul(-2.0).div(head_dim))
    angle = torch.arange(max_seq_len).float().outer(speed)
    return angle.cos(), angle.sin()


def apply_rope(q, k, cos, sin, position_ids=None):
    half = q.shape[-1] // 2
    signs = torch.cat((-torch.ones(half), torch.ones(half))).to(sin)
    signed_sin = sin * signs
    if position_ids is None:
        cos, signed_sin = cos[: q.shape[-2]], signed_sin[: q.shape[-2]]
    else:
        cos, signed_sin = cos[position_ids].unsqueeze(1), signed_sin[position_ids].unsqueeze(1)
    q_other, k_other = (x.detach().roll(half, dims=-1) for x in (q, k))  # first wrong
    q_new = q * cos + q_other * signed_sin
    k_new = k * cos + k_other * signed_sin
    return q_new.to(q), k_new.to(k)
