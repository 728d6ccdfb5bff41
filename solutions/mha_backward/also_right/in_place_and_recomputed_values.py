"""Overwrite scores and weights in place, and compute the weights again for the backward pass.

Only two tensors of B * H * L * L entries are alive, as in activation checkpointing. The projections
run two or three times, and each in-place line must come after the last use of the tensor that it
changes.
"""

import torch


def mha_forward_backward(x, w_q, w_k, w_v, w_o, num_heads, mask, grad_out):
    batch, length, width = x.shape
    if width % num_heads != 0:
        raise ValueError(f"width {width}, heads {num_heads}")
    scale = (width // num_heads) ** -0.5

    def project(weight):
        projected = torch.matmul(x, weight.t())
        return projected.reshape(batch, length, num_heads, -1).transpose(1, 2)

    def join(t):
        return t.transpose(1, 2).contiguous().view(batch * length, width)

    def weights():
        p = torch.matmul(project(w_q), project(w_k).transpose(2, 3)).mul_(scale)
        if mask is not None:
            p.masked_fill_(torch.logical_not(mask), float("-inf"))
        return p.sub_(p.logsumexp(-1, keepdim=True)).exp_()

    attended = join(torch.matmul(weights(), project(w_v)))
    grad = grad_out.reshape(batch * length, width)
    out = torch.matmul(attended, w_o.t()).view(batch, length, width)
    dw_o = torch.matmul(grad.t(), attended)
    at_heads = torch.matmul(grad, w_o)
    delta = (at_heads * attended).view(batch, length, num_heads, -1).sum(-1).transpose(1, 2)
    at_heads = at_heads.view(batch, length, num_heads, -1).transpose(1, 2)

    p = weights()
    dv = join(torch.matmul(p.transpose(2, 3), at_heads))
    ds = torch.matmul(at_heads, project(w_v).transpose(2, 3))
    ds.sub_(delta.unsqueeze(-1)).mul_(p).mul_(scale)
    dq = join(torch.matmul(ds, project(w_k)))
    dk = join(torch.matmul(ds.transpose(2, 3), project(w_q)))
    dx = torch.matmul(dq, w_q)
    dx += torch.matmul(dk, w_k)
    dx += torch.matmul(dv, w_v)
    rows = x.reshape(batch * length, width)
    dws = [torch.matmul(d.t(), rows) for d in (dq, dk, dv)]
    return [out, dx.view(batch, length, width), *dws, dw_o]
