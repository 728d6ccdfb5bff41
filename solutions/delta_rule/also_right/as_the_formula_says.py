"""Multiply the state by the matrix I - beta k k^T, as the formula is written.

You derive nothing, so this is the version to test others against. The matrix product costs
Dv * D * D multiply-adds for each token, although two products with vectors would be enough.
"""

import torch


def gated_delta_rule(q, k, v, beta, decay, state=None):
    dtype = q.dtype
    wide = torch.promote_types(dtype, torch.float32)
    q, k, v, beta, decay = (x.to(wide) for x in (q, k, v, beta, decay))
    eye = torch.eye(q.shape[-1], dtype=q.dtype, device=q.device)
    outer = torch.einsum("bhli,bhlj->bhlij", k, k)
    keep = decay[..., None, None] * (eye - beta[..., None, None] * outer)  # [B, H, L, D, D]
    write = torch.einsum("bhl,bhle,bhld->bhled", beta, v, k)
    S = torch.zeros_like(write[:, :, 0]) if state is None else state.to(wide)
    rows = []
    for t in range(q.shape[2]):
        S = torch.matmul(S, keep[:, :, t]) + write[:, :, t]
        rows.append(torch.einsum("bhed,bhd->bhe", S, q[:, :, t]))
    return torch.stack(rows, dim=2).to(dtype), S
