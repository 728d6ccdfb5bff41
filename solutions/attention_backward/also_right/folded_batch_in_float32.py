"""Fold batch and heads into one axis for bmm, and compute everything in float32.

bfloat16 inputs keep their digits when the mean is subtracted, the step that loses most digits. The
float32 copies take twice the memory of bfloat16, and reshape copies non-contiguous inputs.
"""

import torch


@torch.no_grad()
def attention_backward(q, k, v, grad_out, mask=None):
    B, H, n, d = q.shape
    m, e = v.shape[2:]
    dtype = q.dtype
    wide = torch.float64 if dtype == torch.float64 else torch.float32
    Q, K = q.reshape(B * H, n, d).to(wide), k.reshape(B * H, m, d).to(wide)
    V, G = v.reshape(B * H, m, e).to(wide), grad_out.reshape(B * H, n, e).to(wide)
    Q = Q * d**-0.5
    S = torch.bmm(Q, K.transpose(1, 2))
    if mask is not None:
        S = S + torch.zeros_like(S).masked_fill(~mask.expand(B, H, n, m).reshape(S.shape), -1e9)
    P = torch.softmax(S, dim=2)
    dP = torch.bmm(G, V.transpose(1, 2))
    dS = P * dP
    dS = dS - P * dS.sum(2, keepdim=True)
    dq = torch.bmm(dS, K) * d**-0.5
    dk = torch.bmm(dS.transpose(1, 2), Q)
    dv = torch.bmm(P.transpose(1, 2), G)
    return tuple(x.reshape(B, H, *x.shape[1:]).to(dtype) for x in (dq, dk, dv))
