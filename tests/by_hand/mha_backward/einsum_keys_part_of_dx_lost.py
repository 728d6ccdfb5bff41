# mistakes: dx-without-keys
"""einsum with heads in the weights; the sum for dx has two parts."""

import torch


def mha_forward_backward(x, w_q, w_k, w_v, w_o, num_heads, mask, grad_out):
    width = x.shape[-1]
    if width % num_heads:
        raise ValueError("bad number of heads")
    d = width // num_heads
    wq, wk, wv = (w.reshape(num_heads, d, width) for w in (w_q, w_k, w_v))
    wo = w_o.reshape(width, num_heads, d)
    q, k, v = (torch.einsum("blm,hdm->bhld", x, w) for w in (wq, wk, wv))
    sim = torch.einsum("bhid,bhjd->bhij", q, k) * d**-0.5
    if mask is not None:
        sim = torch.where(mask, sim, torch.finfo(sim.dtype).min)
    p = sim.softmax(-1)
    o = torch.einsum("bhij,bhjd->bhid", p, v)
    y = torch.einsum("bhid,mhd->bim", o, wo)
    gwo = torch.einsum("bim,bhid->mhd", grad_out, o)
    go = torch.einsum("bim,mhd->bhid", grad_out, wo)
    gv = torch.einsum("bhij,bhid->bhjd", p, go)
    gp = torch.einsum("bhid,bhjd->bhij", go, v)
    gs = p * (gp - (p * gp).sum(-1, keepdim=True)) * d**-0.5
    gq = torch.einsum("bhij,bhjd->bhid", gs, k)
    gk = torch.einsum("bhij,bhid->bhjd", gs, q)
    to_x = lambda g, w: torch.einsum("bhld,hdm->blm", g, w)
    gx = to_x(gq, wq) + to_x(gv, wv)  # first wrong
    gws = [torch.einsum("bhld,blm->hdm", g, x).reshape(width, width) for g in (gq, gk, gv)]
    return y, gx, *gws, gwo.reshape(width, width)
