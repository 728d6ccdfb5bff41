# mistakes: lengths-ignored
"""A small class; the boundaries are read, but never used."""

import torch


class Packed:
    def __init__(self, bounds, device):
        self.bounds = bounds
        self.device = device

    def allowed(self, n):
        return torch.ones(n, n, dtype=torch.bool, device=self.device).tril()


def packed_attention(q, k, v, cu_seqlens):
    packed = Packed(cu_seqlens, q.device)
    qh, kh, vh = (x.movedim(1, 0) for x in (q, k, v))
    energy = torch.matmul(qh, kh.mT) / qh.shape[-1] ** 0.5
    hidden = packed.allowed(q.shape[0]).logical_not()
    energy = energy.masked_fill(hidden, torch.finfo(q.dtype).min)  # first wrong
    return torch.matmul(torch.softmax(energy, 2), vh).movedim(0, 1)
