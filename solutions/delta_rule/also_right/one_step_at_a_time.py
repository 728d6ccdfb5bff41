"""Write a function for one token, as a decoder calls it, and let the loop only pass the state on.

The same function serves prefill and decoding, so they cannot differ. Inside, the state is [B, H, D,
Dv], as in many libraries, which takes a transpose at both ends. The end of a call rounds it to the
dtype of the inputs.
"""

import torch


def step(S, q, k, v, beta, decay):
    """q, k [B, H, D], v [B, H, Dv], beta, decay [B, H], S [B, H, D, Dv]."""
    S = torch.einsum("bhde,bh->bhde", S, decay)
    old = torch.einsum("bhde,bhd->bhe", S, k)
    new = beta[..., None] * v + (1 - beta[..., None]) * old
    S = S + torch.einsum("bhd,bhe->bhde", k, new - old)
    return S, torch.einsum("bhde,bhd->bhe", S, q)


def gated_delta_rule(q, k, v, beta, decay, state=None):
    if state is None:
        S = k[:, :, 0, :, None] * v[:, :, 0, None, :] * 0
    else:
        S = state.transpose(-1, -2)
    outs = []
    wide = torch.promote_types(q.dtype, torch.float32)
    S = S.to(wide)
    for parts in zip(*(x.to(wide).unbind(2) for x in (q, k, v, beta, decay))):
        S, row = step(S, *parts)
        outs.append(row)
    return torch.stack(outs, 2).to(q.dtype), S.transpose(-1, -2).to(q.dtype)
