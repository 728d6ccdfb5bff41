"""Compute one row of weights at a time, for one query and all keys up to it.

Without a state this is attention as it is usually written, with exp replaced by phi. The work of a
call grows with the square of the length, but no matrix of weights is kept.
"""

import torch
from torch.nn.functional import elu


def linear_attention(q, k, v, state=None):
    dtype = q.dtype
    wide = torch.promote_types(dtype, torch.float32)
    q, k, v = (x.to(wide) for x in (q, k, v))
    if state is not None:
        state = [part.to(wide) for part in state]
    fq, fk = elu(q) + 1, elu(k) + 1
    outs = []
    for i in range(q.size(2)):
        w = torch.einsum("bhd,bhjd->bhj", fq[:, :, i], fk[:, :, : i + 1])
        top = torch.einsum("bhj,bhje->bhe", w, v[:, :, : i + 1])
        total = w.sum(-1)
        if state is not None:
            top = top + torch.einsum("bhd,bhde->bhe", fq[:, :, i], state[0])
            total = total + torch.einsum("bhd,bhd->bh", fq[:, :, i], state[1])
        outs.append(top / total.unsqueeze(-1))
    S = torch.einsum("bhld,bhle->bhde", fk, v)
    z = fk.sum(-2)
    if state is not None:
        S, z = S + state[0], z + state[1]
    return torch.stack(outs, dim=2).to(dtype), (S, z)
