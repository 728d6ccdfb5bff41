# mistakes: scale-by-d-model, dx-without-values
"""Everything in float32; a scale of the whole width, and a part of dx is missing."""

import torch


def mha_forward_backward(x, w_q, w_k, w_v, w_o, num_heads, mask, grad_out):
    kind = x.dtype
    B, L, M = x.shape
    if M % num_heads != 0:
        raise ValueError("M")
    if kind == torch.bfloat16:
        x, w_q, w_k, w_v, w_o, grad_out = (t.float() for t in (x, w_q, w_k, w_v, w_o, grad_out))
    view = lambda t: t.reshape(B, L, num_heads, M // num_heads).permute(0, 2, 1, 3)
    back = lambda t: t.permute(0, 2, 1, 3).reshape(B, L, M)
    scale = M**-0.5
    q, k, v = view(x @ w_q.t()), view(x @ w_k.t()), view(x @ w_v.t())
    scores = torch.einsum("bhqd,bhkd->bhqk", q, k) * scale  # first wrong
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    p = torch.softmax(scores, dim=-1)
    y = back(torch.einsum("bhqk,bhkd->bhqd", p, v))
    g = view(grad_out @ w_o)
    dp = torch.einsum("bhqd,bhkd->bhqk", g, v)
    ds = p * (dp - (p * dp).sum(dim=-1, keepdim=True)) * scale
    dq = back(torch.einsum("bhqk,bhkd->bhqd", ds, k))
    dk = back(torch.einsum("bhqk,bhqd->bhkd", ds, q))
    dv = back(torch.einsum("bhqk,bhqd->bhkd", p, g))
    dx = torch.matmul(dq, w_q) + torch.matmul(dk, w_k)  # also wrong
    of = lambda a, b: torch.tensordot(a, b, dims=([0, 1], [0, 1]))
    found = y @ w_o.t(), dx, of(dq, x), of(dk, x), of(dv, x), of(grad_out, y)
    return tuple(t.to(kind) for t in found)
