# mistakes: queries-scaled-before-the-features, denominator-over-all-keys
"""A row of weights for every query, over the keys up to it."""

import math

import torch
import torch.nn.functional as F


def linear_attention(q, k, v, state=None):
    dtype = q.dtype
    wide = torch.promote_types(dtype, torch.float32)
    q, k, v = (x.to(wide) for x in (q, k, v))
    if state is not None:
        state = [part.to(wide) for part in state]
    length, width = q.shape[-2:]
    fq = F.elu(q / math.sqrt(width)) + 1  # first wrong
    fk = F.elu(k) + 1
    rows = []
    for i in range(length):
        weights = (fq[:, :, i : i + 1] @ fk[:, :, : i + 1].transpose(2, 3)).squeeze(2)
        numerator = (weights.unsqueeze(2) @ v[:, :, : i + 1]).squeeze(2)
        total = (fq[:, :, i] * fk.sum(dim=2)).sum(-1, keepdim=True)  # also wrong
        if state is not None:
            numerator = numerator + (fq[:, :, i].unsqueeze(2) @ state[0]).squeeze(2)
            total = total + (fq[:, :, i] * state[1]).sum(-1, keepdim=True)
        rows.append(numerator / total)
    S, z = fk.transpose(2, 3) @ v, fk.sum(2)
    if state is not None:
        S, z = S + state[0], z + state[1]
    return torch.stack(rows, 2).to(dtype), (S, z)
