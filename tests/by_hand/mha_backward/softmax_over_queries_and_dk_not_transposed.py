# mistakes: softmax-over-queries, dk-not-transposed
"""Nested functions; a wrong axis forwards, and a missing transpose backwards."""

import torch


def mha_forward_backward(x, w_q, w_k, w_v, w_o, num_heads, mask, grad_out):
    def split(t):
        return torch.movedim(t.unflatten(-1, (num_heads, t.shape[-1] // num_heads)), -2, -3)

    def merge(t):
        return torch.movedim(t, -3, -2).flatten(-2)

    def weight(g, a):
        return torch.einsum("blo,bli->oi", g, a)

    if x.shape[-1] % num_heads != 0:
        raise ValueError("heads")
    q, k, v = split(x @ w_q.T), split(x @ w_k.T), split(x @ w_v.T)
    scale = q.shape[-1] ** -0.5
    dots = torch.matmul(q, k.transpose(-1, -2)) * scale
    if mask is not None:
        dots = torch.where(mask, dots, float("-inf"))
    att = dots.softmax(dim=-2)  # first wrong
    merged = merge(att @ v)
    g = split(grad_out @ w_o)
    d_att = g @ v.transpose(-1, -2)
    d_dots = att * (d_att - (att * d_att).sum(-1, keepdim=True)) * scale
    dq, dk = merge(d_dots @ k), merge(d_dots @ q)  # also wrong
    dv = merge(att.transpose(-1, -2) @ g)
    dx = dq @ w_q + dk @ w_k + dv @ w_v
    return merged @ w_o.T, dx, weight(dq, x), weight(dk, x), weight(dv, x), weight(grad_out, merged)
