# mistakes: softmax-over-queries, scale-missing-in-dk
"""Nested functions; the axis of the softmax and the scale of dk are wrong."""

import torch


def attention_backward(q, k, v, grad_out, mask=None):
    def weights():
        raw = torch.matmul(q, torch.movedim(k, -1, -2)) / q.shape[-1] ** 0.5
        if mask is not None:
            raw = raw.masked_fill(torch.logical_not(mask), float("-inf"))
        return torch.softmax(raw, dim=2)  # first wrong

    def centre(w, g):
        both = w * g
        return both - w * both.sum(dim=-1, keepdim=True)

    w = weights()
    g = centre(w, torch.matmul(grad_out, torch.movedim(v, -1, -2)))
    dq = torch.matmul(g, k) / q.shape[-1] ** 0.5
    dk = torch.matmul(torch.movedim(g, -1, -2), q)  # also wrong
    return dq, dk, torch.matmul(torch.movedim(w, -1, -2), grad_out)
