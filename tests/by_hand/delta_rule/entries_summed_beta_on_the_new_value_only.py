# mistakes: beta-on-the-write-only
"""Products of entries and sums, without matmul."""

import torch


def gated_delta_rule(q, k, v, beta, decay, state=None):
    dtype = q.dtype
    wide = torch.promote_types(dtype, torch.float32)
    q, k, v, beta, decay = (x.to(wide) for x in (q, k, v, beta, decay))
    if state is not None:
        state = state.to(wide)
    S = (v[:, :, 0, :, None] * k[:, :, 0, None, :]) * 0 if state is None else state
    pieces = []
    for t in range(q.size(2)):
        kt = k[:, :, t].unsqueeze(-2)
        S = torch.mul(S, decay[:, :, t].unsqueeze(-1).unsqueeze(-1))
        old = torch.sum(S * kt, dim=-1, keepdim=True)
        new = (beta[:, :, t, None] * v[:, :, t]).unsqueeze(-1)
        S = S + (new - old) * kt  # first wrong
        pieces.append((S * q[:, :, t].unsqueeze(-2)).sum(-1))
    return torch.stack(pieces, dim=2).to(dtype), S
