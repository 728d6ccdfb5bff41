"""Compute the states of all tokens with cumulative sums, without a loop.

Three einsums and two cumsums are all the code. The states of all tokens take L * D * Dv numbers, so
this suits small heads; a chunked form needs a fraction of the memory.
"""

import torch


def phi(x):
    return torch.where(x > 0, x + 1, x.clamp(max=0).exp())


def linear_attention(q, k, v, state=None):
    wide = torch.promote_types(q.dtype, torch.float32)
    fq, fk = phi(q).to(wide), phi(k)
    S = torch.einsum("bhld,bhle->bhlde", fk, v).cumsum(dim=2, dtype=wide)
    z = fk.cumsum(dim=2, dtype=wide)
    if state is not None:
        S = S + state[0].unsqueeze(2)
        z = z + state[1].unsqueeze(2)
    top = torch.einsum("bhld,bhlde->bhle", fq, S)
    bottom = torch.einsum("bhld,bhld->bhl", fq, z)
    return (top / bottom[..., None]).to(q.dtype), (S[:, :, -1], z[:, :, -1])
