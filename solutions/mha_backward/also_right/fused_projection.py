"""Stack the three input weights into one of 3M rows: one product forward, and two backward.

dx is a single product with the stacked weight, so no part of it can be lost. Stacking copies the
weights in every call; a layer that keeps them fused has no such cost.
"""

import math

import torch


def mha_forward_backward(x, w_q, w_k, w_v, w_o, num_heads, mask, grad_out):
    B, L, M = x.shape
    D, rest = divmod(M, num_heads)
    if rest:
        raise ValueError(f"num_heads {num_heads} does not divide {M}")
    w = torch.cat([w_q, w_k, w_v])
    tokens, grads = x.reshape(B * L, M), grad_out.reshape(B * L, M)
    qkv = (tokens @ w.t()).view(B, L, 3, num_heads, D).permute(2, 0, 3, 1, 4)
    q, k, v = qkv.unbind(0)
    s = torch.matmul(q, k.transpose(-1, -2)).div(math.sqrt(D))
    if mask is not None:
        s = torch.where(mask, s, torch.full_like(s, -torch.inf))
    p = torch.softmax(s, dim=-1)
    merged = torch.matmul(p, v).transpose(1, 2).reshape(B * L, M)
    out = (merged @ w_o.t()).view(B, L, M)

    g = (grads @ w_o).view(B, L, num_heads, D).transpose(1, 2)
    dp = torch.matmul(g, v.transpose(-1, -2))
    ds = p * dp
    ds = (ds - p * ds.sum(dim=-1, keepdim=True)).div(math.sqrt(D))
    dqkv = torch.stack([ds @ k, ds.transpose(-1, -2) @ q, p.transpose(-1, -2) @ g])
    dqkv = dqkv.permute(1, 3, 0, 2, 4).reshape(B * L, 3 * M)
    dx = (dqkv @ w).view(B, L, M)
    return (out, dx, *(dqkv.t() @ tokens).chunk(3), grads.t() @ merged)
