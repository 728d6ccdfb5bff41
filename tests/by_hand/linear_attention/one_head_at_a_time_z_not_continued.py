# mistakes: sum-of-the-state-forgotten
# diagnosis: line elsewhere
"""Loops over batch and heads; every head is a few matrices."""

import torch


def features(x):
    return torch.where(x > 0, x + 1, torch.exp(torch.clamp(x, max=0)))


def linear_attention(q, k, v, state=None):
    dtype = q.dtype
    wide = torch.promote_types(dtype, torch.float32)
    q, k, v = (x.to(wide) for x in (q, k, v))
    if state is not None:
        state = [part.to(wide) for part in state]
    outs, states, sums = [], [], []
    for b in range(q.shape[0]):
        for h in range(q.shape[1]):
            S = torch.zeros(q.shape[3], v.shape[3], dtype=q.dtype)
            if state is not None:
                S = state[0][b, h]
            z = torch.zeros(q.shape[3], dtype=q.dtype)  # first wrong
            rows = []
            for qt, kt, vt in zip(features(q[b, h]), features(k[b, h]), v[b, h], strict=True):
                S = S + torch.outer(kt, vt)
                z = z + kt
                rows.append(torch.mv(S.t(), qt) / torch.dot(qt, z))
            outs.append(torch.stack(rows))
            states.append(S)
            sums.append(z)
    B, H = q.shape[:2]

    def join(parts):
        return torch.stack(parts).reshape(B, H, *parts[0].shape)

    return join(outs).to(dtype), (join(states), join(sums))
