# mistakes: keys-normalised
"""Loops over batch and heads; each head gets matrices and vectors."""

import torch


def one_head(q, k, v, beta, decay, S):
    k = k / k.norm(dim=-1, keepdim=True).clamp(min=1e-6)  # first wrong
    out = []
    for t in range(len(q)):
        S = decay[t] * S
        S = S + beta[t] * torch.outer(v[t] - S.mv(k[t]), k[t])
        out.append(S.mv(q[t]))
    return torch.stack(out), S


def gated_delta_rule(q, k, v, beta, decay, state=None):
    dtype = q.dtype
    wide = torch.promote_types(dtype, torch.float32)
    q, k, v, beta, decay = (x.to(wide) for x in (q, k, v, beta, decay))
    if state is not None:
        state = state.to(wide)
    outs, states = [], []
    for b in range(q.shape[0]):
        for h in range(q.shape[1]):
            start = q.new_zeros(v.shape[-1], q.shape[-1]) if state is None else state[b, h]
            out, S = one_head(q[b, h], k[b, h], v[b, h], beta[b, h], decay[b, h], start)
            outs.append(out)
            states.append(S)
    shape = q.shape[:2]
    return torch.stack(outs).unflatten(0, shape).to(dtype), torch.stack(states).unflatten(0, shape)
