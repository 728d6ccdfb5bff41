# mistakes: epsilon-in-the-denominator
"""Values with a column of ones: numerator and denominator come from the same product."""

import torch
import torch.nn.functional as F


def linear_attention(q, k, v, state=None):
    dtype = q.dtype
    wide = torch.promote_types(dtype, torch.float32)
    q, k, v = (x.to(wide) for x in (q, k, v))
    if state is not None:
        state = [part.to(wide) for part in state]
    v1 = torch.cat((v, torch.ones_like(v[..., :1])), dim=-1)
    fq, fk = (F.elu(t) + 1 for t in (q, k))
    acc = torch.einsum("bhnd,bhne->bhnde", fk, v1).cumsum(dim=2)
    if state is not None:
        acc = acc + torch.cat((state[0], state[1][..., None]), dim=-1)[:, :, None]
    both = (fq[..., None, :] @ acc).squeeze(-2)
    y = both[..., :-1] / (both[..., -1:] + 1e-6)  # first wrong
    last = acc[:, :, -1]
    return y.to(dtype), (last[..., :-1], last[..., -1])
