# mistakes: read-before-the-write, beta-twice
"""Many short lines; the read happens while the old state is still at hand."""

import torch


def gated_delta_rule(q, k, v, beta, decay, state=None):
    dtype = q.dtype
    wide = torch.promote_types(dtype, torch.float32)
    q, k, v, beta, decay = (x.to(wide) for x in (q, k, v, beta, decay))
    if state is not None:
        state = state.to(wide)
    n = q.shape[2]
    S = state
    if S is None:
        S = q.new_zeros(q.shape[0], q.shape[1], v.shape[3], q.shape[3])
    out = []
    for t in range(n):
        g = decay[:, :, t].reshape(*S.shape[:2], 1, 1)
        b = beta[:, :, t].reshape(*S.shape[:2], 1, 1)
        kt = k[:, :, t].unsqueeze(3)
        qt = q[:, :, t].unsqueeze(3)
        S = g * S
        o = torch.matmul(S, qt)  # first wrong
        out.append(o.squeeze(3))
        e = b * (v[:, :, t].unsqueeze(3) - torch.matmul(S, kt))
        S = S + torch.matmul(b * e, kt.transpose(2, 3))  # also wrong
    return torch.stack(out, dim=2).to(dtype), S
