"""Compute everything in float32, with batch and heads folded into one axis for bmm.

bfloat16 inputs keep their digits in the sums over all tokens, which are long in training. The
copies take twice the memory, and only the six results are rounded.
"""

import torch


@torch.no_grad()
def mha_forward_backward(x, w_q, w_k, w_v, w_o, num_heads, mask, grad_out):
    B, L, M = x.shape
    if M % num_heads > 0:
        raise ValueError(f"cannot cut {M} features into {num_heads} heads")
    D, dtype = M // num_heads, x.dtype
    wide = torch.promote_types(dtype, torch.float32)
    x, w_q, w_k, w_v, w_o, dy = (t.to(wide) for t in (x, w_q, w_k, w_v, w_o, grad_out))

    def fold(t):
        return t.reshape(B, L, num_heads, D).permute(0, 2, 1, 3).reshape(B * num_heads, L, D)

    def unfold(t):
        return t.reshape(B, num_heads, L, D).permute(0, 2, 1, 3).reshape(B * L, M)

    q, k, v = fold(x @ w_q.T), fold(x @ w_k.T), fold(x @ w_v.T)
    scores = torch.bmm(q, k.transpose(1, 2)) / D**0.5
    if mask is not None:
        hidden = ~mask.expand(B, num_heads, L, L).reshape(B * num_heads, L, L)
        scores = scores.masked_fill(hidden, float("-inf"))
    e = torch.exp(scores - scores.amax(dim=2, keepdim=True))
    p = e / e.sum(dim=2, keepdim=True)
    joined = unfold(torch.bmm(p, v))
    rows, dy = x.reshape(B * L, M), dy.reshape(B * L, M)

    g = fold(dy @ w_o)
    dp = torch.bmm(g, v.transpose(1, 2))
    ds = p * (dp - (p * dp).sum(dim=2, keepdim=True)) / D**0.5
    dq, dk = unfold(torch.bmm(ds, k)), unfold(torch.bmm(ds.transpose(1, 2), q))
    dv = unfold(torch.bmm(p.transpose(1, 2), g))
    dx = torch.addmm(torch.addmm(dq @ w_q, dk, w_k), dv, w_v)
    out, dx = (joined @ w_o.T).view(B, L, M), dx.view(B, L, M)
    results = out, dx, dq.T @ rows, dk.T @ rows, dv.T @ rows, dy.T @ joined
    return tuple(result.to(dtype) for result in results)
