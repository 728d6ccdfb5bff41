# mistakes: mean-unweighted
"""einsum everywhere; the mean of dP is taken without the weights."""

import torch


def attention_backward(q, k, v, grad_out, mask=None):
    root = q.shape[-1] ** 0.5
    sim = torch.einsum("bhid,bhjd->bhij", q, k) / root
    if mask is not None:
        sim = torch.where(mask, sim, torch.finfo(sim.dtype).min)
    attn = sim.softmax(dim=-1)
    dattn = torch.einsum("bhie,bhje->bhij", grad_out, v)
    centred = dattn - dattn.mean(dim=-1, keepdim=True)  # first wrong
    dsim = attn * centred / root
    dq = torch.einsum("bhij,bhjd->bhid", dsim, k)
    dk = torch.einsum("bhij,bhid->bhjd", dsim, q)
    return dq, dk, torch.einsum("bhij,bhie->bhje", attn, grad_out)
