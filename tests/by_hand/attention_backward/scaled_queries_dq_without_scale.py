# mistakes: scale-missing-in-dq
"""The queries are scaled first, which gives dk its scale; nothing gives dq its scale."""

import torch


def attention_backward(q, k, v, grad_out, mask=None):
    scaled = q * q.shape[-1] ** -0.5
    w = torch.einsum("...id,...jd->...ij", scaled, k)
    if mask is not None:
        w = w + torch.zeros(mask.shape, dtype=w.dtype).masked_fill(~mask, float("-inf"))
    w = torch.softmax(w, dim=-1)
    gw = torch.einsum("...ie,...je->...ij", grad_out, v)
    gs = w * (gw - (gw * w).sum(-1, True))
    gq = torch.einsum("...ij,...jd->...id", gs, k)  # first wrong
    gk = torch.einsum("...ij,...id->...jd", gs, scaled)
    gv = torch.einsum("...ij,...ie->...je", w, grad_out)
    return gq, gk, gv
