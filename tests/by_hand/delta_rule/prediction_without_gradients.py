# mistakes: old-value-detached
"""The prediction is computed under no_grad, as if it were a target."""

import torch


def gated_delta_rule(q, k, v, beta, decay, state=None):
    dtype = q.dtype
    wide = torch.promote_types(dtype, torch.float32)
    q, k, v, beta, decay = (x.to(wide) for x in (q, k, v, beta, decay))
    if state is not None:
        state = state.to(wide)
    S = state
    if S is None:
        S = torch.zeros(*q.shape[:2], v.shape[-1], q.shape[-1], dtype=q.dtype)
    outs = ()
    for t in range(q.shape[-2]):
        S = torch.einsum("bhed,bh->bhed", S, decay[..., t])
        with torch.no_grad():
            guess = torch.einsum("bhed,bhd->bhe", S, k[:, :, t])  # first wrong
        delta = torch.einsum("bh,bhe->bhe", beta[..., t], v[:, :, t] - guess)
        S = S + torch.einsum("bhe,bhd->bhed", delta, k[:, :, t])
        outs += (torch.einsum("bhed,bhd->bhe", S, q[:, :, t]),)
    return torch.stack(outs, dim=-2).to(dtype), S
