# mistakes: mask-filled-with-zero, mean-over-queries
"""Everything in float32; masked scores of 0, and a mean over the wrong axis."""

import torch


def attention_backward(q, k, v, grad_out, mask=None):
    kind = q.dtype
    if kind == torch.bfloat16:
        q, k, v, grad_out = q.float(), k.float(), v.float(), grad_out.float()
    scale = q.shape[-1] ** -0.5
    scores = torch.einsum("bhqd,bhkd->bhqk", q, k) * scale
    if mask is not None:
        scores = torch.where(mask, scores, 0.0)  # also wrong
    prob = torch.softmax(scores, dim=-1)
    d_prob = torch.einsum("bhqe,bhke->bhqk", grad_out, v)
    d_scores = prob * (d_prob - (prob * d_prob).sum(dim=2, keepdim=True))  # first wrong
    d_scores = d_scores * scale
    dq = torch.einsum("bhqk,bhkd->bhqd", d_scores, k)
    dk = torch.einsum("bhqk,bhqd->bhkd", d_scores, q)
    dv = torch.einsum("bhqk,bhqe->bhke", prob, grad_out)
    return dq.to(kind), dk.to(kind), dv.to(kind)
