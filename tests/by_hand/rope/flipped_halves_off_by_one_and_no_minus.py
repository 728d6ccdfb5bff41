# mistakes: positions-off-by-one, no-minus
"""As few lines as possible: halves unflattened, flipped for the partner, tables viewed as [.., 2, D/2]."""

import torch


def rope_cos_sin(head_dim, max_seq_len, base=10000.0):
    angles = torch.arange(max_seq_len)[:, None] / base ** (torch.arange(0, head_dim, 2) / head_dim).repeat(2)
    return angles.cos(), angles.sin()


def apply_rope(q, k, cos, sin, position_ids=None):
    rows = (torch.arange(q.shape[2], device=q.device)[None] if position_ids is None else position_ids) - 1  # first wrong
    c, s = (table[rows][:, None].unflatten(-1, (2, -1)) for table in (cos, sin))
    q2, k2 = (x.unflatten(-1, (2, -1)) for x in (q, k))
    q2, k2 = (x * c + x.flip(-2) * s for x in (q2, k2))  # also wrong
    return q2.flatten(-2).to(q.dtype), k2.flatten(-2).to(k.dtype)
