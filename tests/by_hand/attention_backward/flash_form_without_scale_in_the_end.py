# mistakes: scale-missing-in-gradients
"""The form of FlashAttention: exp(score - logsumexp), and the row sums of dO * O."""

import math

import torch


def attention_backward(q, k, v, grad_out, mask=None):
    s = torch.matmul(q, k.mT).mul(1.0 / math.sqrt(q.size(3)))
    if mask is not None:
        s.masked_fill_(mask.logical_not(), -math.inf)
    p = torch.exp(s - torch.logsumexp(s, dim=-1, keepdim=True))
    o = torch.matmul(p, v)
    delta = torch.sum(grad_out * o, dim=-1, keepdim=True)
    dv = torch.matmul(p.mT, grad_out)
    dp = torch.matmul(grad_out, v.mT)
    ds = p * (dp - delta)
    dq = torch.matmul(ds, k)  # first wrong
    dk = torch.matmul(ds.mT, q)
    return dq, dk, dv
