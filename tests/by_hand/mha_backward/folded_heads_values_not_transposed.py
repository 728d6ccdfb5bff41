# mistakes: dv-weights-not-transposed
"""Batch and heads folded for bmm; the weights are used for dv as they are."""

import torch


def mha_forward_backward(x, w_q, w_k, w_v, w_o, num_heads, mask, grad_out):
    n, length, width = x.shape
    if width % num_heads != 0:
        raise ValueError(f"{width} % {num_heads}")
    d = width // num_heads

    def fold(t):
        return t.reshape(n, length, num_heads, d).transpose(1, 2).reshape(n * num_heads, length, d)

    def unfold(t):
        return t.reshape(n, num_heads, length, d).transpose(1, 2).reshape(n, length, width)

    def dw(g, a):
        return torch.tensordot(g, a, dims=([0, 1], [0, 1]))

    q, k, v = fold(x @ w_q.T), fold(x @ w_k.T), fold(x @ w_v.T)
    scores = torch.bmm(q, k.transpose(1, 2)) * d**-0.5
    if mask is not None:
        full = mask.expand(n, num_heads, length, length).reshape(scores.shape)
        scores = scores.masked_fill(~full, torch.finfo(scores.dtype).min)
    e = (scores - scores.amax(-1, keepdim=True)).exp()
    p = e / e.sum(-1, keepdim=True)
    joined = unfold(torch.bmm(p, v))
    g = fold(grad_out @ w_o)
    dv = unfold(torch.bmm(p, g))  # first wrong
    dp = torch.bmm(g, v.transpose(1, 2))
    ds = p * (dp - (p * dp).sum(-1, keepdim=True)) * d**-0.5
    dq, dk = unfold(torch.bmm(ds, k)), unfold(torch.bmm(ds.transpose(1, 2), q))
    dx = dq @ w_q + dk @ w_k + dv @ w_v
    return joined @ w_o.T, dx, dw(dq, x), dw(dk, x), dw(dv, x), dw(grad_out, joined)
