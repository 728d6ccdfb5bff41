# mistakes: dk-reshaped
"""Batch and heads folded for bmm; the last product gets its shape by a reshape."""

import torch


def attention_backward(q, k, v, grad_out, mask=None):
    B, H, n, d = q.shape
    m, e = k.size(2), v.size(3)
    fq, fk = q.reshape(-1, n, d), k.reshape(-1, m, d)
    fv, fg = v.reshape(-1, m, e), grad_out.reshape(-1, n, e)
    scores = torch.bmm(fq, fk.permute(0, 2, 1)).view(B, H, n, m) / d**0.5
    if mask is not None:
        scores = scores.masked_fill(mask == False, float("-inf"))
    P = torch.softmax(scores, dim=-1).view(B * H, n, m)
    dP = torch.bmm(fg, fv.permute(0, 2, 1))
    dS = P * dP
    dS = dS - P * dS.sum(2, keepdim=True)
    dS = dS / d**0.5
    dq = torch.bmm(dS, fk)
    dk = torch.bmm(dS.reshape(B * H, m, n), fq)  # first wrong
    dv = torch.bmm(P.permute(0, 2, 1), fg)
    return dq.view(B, H, n, d), dk.view(B, H, m, d), dv.view(B, H, m, e)
