# mistakes: removal-added, no-state-of-the-caller
"""float32 inside; the state argument is only asked for its dtype."""

import torch


def gated_delta_rule(q, k, v, beta, decay, state=None):
    wide = torch.promote_types(q.dtype, torch.float32)
    qs, ks, vs, bs, gs = (x.to(wide) for x in (q, k, v, beta, decay))
    S = torch.zeros(*q.shape[:2], v.shape[-1], q.shape[-1], dtype=wide)  # first wrong
    dtype = q.dtype if state is None else state.dtype
    rows = []
    for t in range(q.shape[2]):
        kt = ks[:, :, t]
        S = gs[:, :, t, None, None] * S
        held = torch.einsum("bhed,bhd->bhe", S, kt)
        change = bs[:, :, t, None] * torch.add(vs[:, :, t], held)  # also wrong
        S = S + change[..., None] * kt[:, :, None, :]
        rows.append(torch.einsum("bhed,bhd->bhe", S, qs[:, :, t]))
    return torch.stack(rows, dim=2).to(dtype), S.to(dtype)
