# mistakes: decay-after-the-write
"""The formula with matrices; the decay is multiplied into the whole right side."""

import torch


def gated_delta_rule(q, k, v, beta, decay, state=None):
    dtype = q.dtype
    wide = torch.promote_types(dtype, torch.float32)
    q, k, v, beta, decay = (x.to(wide) for x in (q, k, v, beta, decay))
    if state is not None:
        state = state.to(wide)
    b, h, n, d = q.shape
    eye = torch.eye(d, dtype=k.dtype, device=k.device)
    S = state if state is not None else torch.zeros(b, h, v.shape[-1], d, dtype=q.dtype)
    rows = []
    for t in range(n):
        kt, bt = k[:, :, t], beta[:, :, t, None, None]
        keep = eye - bt * kt.unsqueeze(-1) * kt.unsqueeze(-2)
        write = bt * torch.einsum("bhe,bhd->bhed", v[:, :, t], kt)
        S = decay[:, :, t, None, None] * (S @ keep + write)  # first wrong
        rows.append(torch.einsum("bhed,bhd->bhe", S, q[:, :, t]))
    return torch.stack(rows, 2).to(dtype), S
