"""View every weight as [H, D, M], and write each step as an einsum that names the heads.

No tensor is split or merged, so you cannot forget a transpose, and the letters of an einsum show
the sums over batch and tokens. einsum decides which operands it copies, which is hard to predict.
"""

from torch import einsum, finfo


def mha_forward_backward(x, w_q, w_k, w_v, w_o, num_heads, mask, grad_out):
    M = x.shape[-1]
    if M % num_heads:
        raise ValueError(f"{M} features cannot be split into {num_heads} heads")
    D = M // num_heads
    wq, wk, wv = (w.reshape(num_heads, D, M) for w in (w_q, w_k, w_v))
    wo = w_o.reshape(M, num_heads, D)
    q = einsum("blm,hdm->bhld", x, wq) * D**-0.5
    k = einsum("blm,hdm->bhld", x, wk)
    v = einsum("blm,hdm->bhld", x, wv)
    logits = einsum("bhid,bhjd->bhij", q, k)
    if mask is not None:
        logits = logits.masked_fill(~mask, finfo(logits.dtype).min)
    P = logits.softmax(-1)
    heads = einsum("bhij,bhjd->bhid", P, v)
    out = einsum("bhid,ohd->bio", heads, wo)

    dwo = einsum("bio,bhid->ohd", grad_out, heads)
    dheads = einsum("bio,ohd->bhid", grad_out, wo)
    dv = einsum("bhij,bhid->bhjd", P, dheads)
    delta = einsum("bhid,bhid->bhi", dheads, heads).unsqueeze(-1)
    dS = P * (einsum("bhid,bhjd->bhij", dheads, v) - delta)
    dq = einsum("bhij,bhjd->bhid", dS, k) * D**-0.5
    dk = einsum("bhij,bhid->bhjd", dS, q)
    dx = sum(einsum("bhld,hdm->blm", g, w) for g, w in ((dq, wq), (dk, wk), (dv, wv)))
    dwq, dwk, dwv = (einsum("bhld,blm->hdm", g, x).reshape(M, M) for g in (dq, dk, dv))
    return out, dx, dwq, dwk, dwv, dwo.reshape(M, M)
