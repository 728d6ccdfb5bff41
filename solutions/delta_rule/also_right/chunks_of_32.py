"""Work in chunks of 32 tokens: solve a triangular system for the errors of a chunk, then use
products.

Inside a chunk, every error depends on the earlier errors, which gives a unit triangular system.
Matrix products replace the loop over tokens, which suits a GPU. The solve runs in float32, because
torch has none in bfloat16.
"""

import torch

CHUNK = 32


def gated_delta_rule(q, k, v, beta, decay, state=None):
    dtype = q.dtype
    wide = torch.promote_types(dtype, torch.float32)
    q, k, v, beta, decay = (x.to(wide) for x in (q, k, v, beta, decay))
    B, H, L, D = q.shape
    S = q.new_zeros(B, H, v.size(-1), D) if state is None else state.to(wide)
    outs = []
    for a in range(0, L, CHUNK):
        qc, kc, vc, bc, dc = (x[:, :, a : a + CHUNK] for x in (q, k, v, beta, decay))
        n = qc.size(2)
        g = dc.log().cumsum(-1)  # log of the decay from the start of the chunk
        lower = torch.ones(n, n, dtype=torch.bool, device=q.device).tril()
        ratio = (g[..., :, None] - g[..., None, :]).masked_fill(~lower, float("-inf")).exp()
        system = (bc[..., None] * (kc @ kc.mT) * ratio).tril(-1)
        system = system + torch.eye(n, dtype=wide, device=q.device)
        start = g.exp()[..., None]
        target = bc[..., None] * (vc - start * (kc @ S.mT))
        steps = torch.linalg.solve_triangular(system, target, upper=False, unitriangular=True)
        outs.append(start * (qc @ S.mT) + ((qc @ kc.mT) * ratio) @ steps)
        rest = (g[..., -1:] - g).exp()[..., None]
        S = start[:, :, -1:] * S + (rest * steps).mT @ kc
    return torch.cat(outs, dim=2).to(dtype), S.to(dtype)
