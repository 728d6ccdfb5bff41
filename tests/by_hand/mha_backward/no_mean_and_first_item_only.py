# mistakes: mean-missing, dw-of-the-first-item
"""Short names; the softmax is differentiated without its mean, and the batch is lost."""

import torch


def mha_forward_backward(x, w_q, w_k, w_v, w_o, num_heads, mask, grad_out):
    b, l, m = x.shape
    if m % num_heads:
        raise ValueError("m")
    r = (m // num_heads) ** 0.5
    S = lambda t: t.reshape(b, l, num_heads, -1).transpose(1, 2)
    U = lambda t: t.transpose(1, 2).reshape(b, l, m)
    q, k, v = S(x @ w_q.T), S(x @ w_k.T), S(x @ w_v.T)
    s = q @ k.mT / r
    if mask is not None:
        s = s.masked_fill(~mask, -1e9)
    p = torch.softmax(s, -1)
    y = U(p @ v)
    g = S(grad_out @ w_o)
    e = p * (g @ v.mT) / r  # first wrong
    dq, dk, dv = U(e @ k), U(e.mT @ q), U(p.mT @ g)

    def dw(grad, inp):
        return grad[0].T @ inp[0]  # also wrong

    dx = dq @ w_q + dk @ w_k + dv @ w_v
    return y @ w_o.T, dx, dw(dq, x), dw(dk, x), dw(dv, x), dw(grad_out, y)
