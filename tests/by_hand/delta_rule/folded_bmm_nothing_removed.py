# mistakes: no-removal
"""Batch and heads in one axis; the write is a single baddbmm."""

import torch


def gated_delta_rule(q, k, v, beta, decay, state=None):
    dtype = q.dtype
    wide = torch.promote_types(dtype, torch.float32)
    q, k, v, beta, decay = (x.to(wide) for x in (q, k, v, beta, decay))
    if state is not None:
        state = state.to(wide)
    B, H, T, D = q.shape
    E = v.shape[-1]
    Q, K, V = q.reshape(B * H, T, D), k.reshape(B * H, T, D), v.reshape(B * H, T, E)
    rates, fades = beta.reshape(B * H, T, 1), decay.reshape(B * H, T, 1)
    S = q.new_zeros(B * H, E, D) if state is None else state.reshape(B * H, E, D)
    outs = []
    for t in range(T):
        written = rates[:, t] * V[:, t]  # first wrong
        S = torch.baddbmm(S * fades[:, t, :, None], written[:, :, None], K[:, t, None])
        outs.append(torch.bmm(S, Q[:, t, :, None]).squeeze(-1))
    return torch.stack(outs, 1).reshape(B, H, T, E).to(dtype), S.reshape(B, H, E, D)
