# mistakes: state-transposed
# diagnosis: line elsewhere
"""The memory is [B, H, D, Dv] inside, and it is returned like this."""

import torch


def gated_delta_rule(q, k, v, beta, decay, state=None):
    dtype = q.dtype
    wide = torch.promote_types(dtype, torch.float32)
    q, k, v, beta, decay = (x.to(wide) for x in (q, k, v, beta, decay))
    if state is not None:
        state = state.to(wide)
    M = k.new_zeros(*k.shape[:2], k.shape[-1], v.shape[-1]) if state is None else state.mT
    rows = []
    for t in range(k.shape[2]):
        address = k[:, :, t, :, None]
        M = M * decay[:, :, t, None, None]
        held = (M * address).sum(dim=2, keepdim=True)
        M = M + address * (beta[:, :, t, None, None] * (v[:, :, t, None, :] - held))
        rows.append((M * q[:, :, t, :, None]).sum(dim=2))
    out = torch.stack(rows, dim=2)
    return out.to(dtype), M  # first wrong
