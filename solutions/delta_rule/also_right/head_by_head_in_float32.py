"""Take one head of one sequence at a time, as matrices, and compute in float32 or finer.

The code reads like the formula on paper, and bfloat16 inputs lose digits only in the state that is
returned. The loops over batch and heads run as many small operations as there are heads in the
batch.
"""

import torch


def gated_delta_rule(q, k, v, beta, decay, state=None):
    dtype = q.dtype
    wide = torch.promote_types(dtype, torch.float32)
    B, H, L, D = q.shape
    outs, states = [], []
    for b in range(B):
        for h in range(H):
            Q, K, V = q[b, h].to(wide), k[b, h].to(wide), v[b, h].to(wide)
            rates, fades = beta[b, h].to(wide), decay[b, h].to(wide)
            S = Q.new_zeros(V.shape[1], D) if state is None else state[b, h].to(wide)
            rows = []
            for t in range(L):
                S = fades[t] * S
                S = S - rates[t] * torch.outer(S @ K[t] - V[t], K[t])
                rows.append(S @ Q[t])
            outs.append(torch.stack(rows))
            states.append(S)
    out = torch.stack(outs).reshape(B, H, L, -1)
    return out.to(dtype), torch.stack(states).reshape(B, H, -1, D).to(dtype)
