# mistakes: no-state-of-the-caller, state-overwritten
"""Batch and heads in one axis; bmm does the products."""

import torch
import torch.nn.functional as F


def linear_attention(q, k, v, state=None):
    dtype = q.dtype
    wide = torch.promote_types(dtype, torch.float32)
    q, k, v = (x.to(wide) for x in (q, k, v))
    if state is not None:
        state = [part.to(wide) for part in state]
    B, H, T, D = q.shape
    E = v.shape[-1]
    fq = (F.elu(q) + 1).reshape(B * H, T, D)
    fk = (F.elu(k) + 1).reshape(B * H, T, D)
    fv = v.reshape(B * H, T, E)
    S = q.new_zeros(B * H, D, E)  # first wrong
    z = q.new_zeros(B * H, D, 1)
    outs = []
    for t in range(T):
        S = torch.bmm(fk[:, t, :, None], fv[:, t, None])  # also wrong
        z = z + fk[:, t, :, None]
        outs.append(torch.bmm(fq[:, t, None], S) / torch.bmm(fq[:, t, None], z))
    out = torch.cat(outs, dim=1).reshape(B, H, T, E)
    return out.to(dtype), (S.reshape(B, H, D, E), z.reshape(B, H, D))
