"""Keep a single tensor of weights and one of gradients, and change both in place.

The weights are exp(score - logsumexp), computed like those of a fused kernel that keeps the
logsumexp. Only two tensors of Lq * Lk entries are alive, but the order of the lines matters: no
line may change a tensor that a later line still needs.
"""

import torch


def attention_backward(q, k, v, grad_out, mask=None):
    scale = 1.0 / q.shape[-1] ** 0.5
    p = torch.matmul(q, k.transpose(2, 3)).mul_(scale)
    if mask is not None:
        p.masked_fill_(~mask, float("-inf"))
    p = p.sub_(torch.logsumexp(p, -1, keepdim=True)).exp_()
    dv = torch.matmul(p.transpose(2, 3), grad_out)
    mean = (torch.matmul(p, v) * grad_out).sum(-1, keepdim=True)
    ds = torch.matmul(grad_out, v.transpose(2, 3)).sub_(mean).mul_(p).mul_(scale)
    dq = torch.matmul(ds, k)
    dk = torch.matmul(ds.transpose(2, 3), q)
    return [dq, dk, dv]
