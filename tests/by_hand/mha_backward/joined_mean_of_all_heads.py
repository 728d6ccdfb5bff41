# mistakes: mean-over-all-heads
"""The mean of a row from gradient and result, before they are split into heads."""

import math

import torch


def mha_forward_backward(x, w_q, w_k, w_v, w_o, num_heads, mask, grad_out):
    width = x.shape[-1]
    head_width = width // num_heads
    if head_width * num_heads != width:
        raise ValueError("the heads do not fit")
    to_heads = lambda t: torch.stack(t.split(head_width, -1), 1)
    from_heads = lambda t: torch.cat(t.unbind(1), -1)
    q = to_heads(x @ w_q.t()) / math.sqrt(head_width)
    k, v = to_heads(x @ w_k.t()), to_heads(x @ w_v.t())
    p = q @ k.swapaxes(2, 3)
    if mask is not None:
        p = torch.where(mask, p, -math.inf)
    p = torch.exp(p - p.logsumexp(3, keepdim=True))
    result = from_heads(p @ v)
    dresult = grad_out @ w_o
    delta = torch.sum(dresult * result, -1)[:, None, :, None]  # first wrong
    g = to_heads(dresult)
    ds = p * (g @ v.swapaxes(2, 3) - delta)
    dq = from_heads(ds @ k) / math.sqrt(head_width)
    dk = from_heads(ds.swapaxes(2, 3) @ q)
    dv = from_heads(p.swapaxes(2, 3) @ g)
    outer = lambda a, b: (a.swapaxes(1, 2) @ b).sum(0)
    dx = dq @ w_q + dk @ w_k + dv @ w_v
    return result @ w_o.t(), dx, outer(dq, x), outer(dk, x), outer(dv, x), outer(grad_out, result)
