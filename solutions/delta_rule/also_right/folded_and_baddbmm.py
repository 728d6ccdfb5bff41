"""Fold batch and heads into one axis, and let baddbmm compute the error and the write.

Each token needs only three batched products, two of which also add a term. The decay takes a
multiplication of its own, because the factors of baddbmm are plain numbers, not one for each head.
"""

import torch


def gated_delta_rule(q, k, v, beta, decay, state=None):
    dtype = q.dtype
    wide = torch.promote_types(dtype, torch.float32)
    q, k, v, beta, decay = (x.to(wide) for x in (q, k, v, beta, decay))
    if state is not None:
        state = state.to(wide)
    B, H, L, D = q.shape
    E = v.size(-1)
    fold = lambda x: x.flatten(0, 1)  # noqa: E731
    Q, K, V = fold(q), fold(k), fold(v)
    b, d = fold(beta)[..., None, None], fold(decay)[..., None, None]
    S = torch.zeros(B * H, E, D, dtype=q.dtype, device=q.device) if state is None else fold(state)
    outs = []
    for t in range(L):
        faded = S * d[:, t]
        error = torch.baddbmm(V[:, t, :, None], faded, K[:, t, :, None], alpha=-1)
        S = torch.baddbmm(faded, error * b[:, t], K[:, t, None, :])
        outs.append(torch.bmm(S, Q[:, t, :, None]))
    return torch.cat(outs, dim=-1).mT.unflatten(0, (B, H)).to(dtype), S.unflatten(0, (B, H))
