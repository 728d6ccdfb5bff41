# mistakes: bias-scaled-by-head-dim
"""baddbmm over batch and heads in one axis; one division for scores and bias."""

import torch


def alibi_slopes(num_heads):
    n = 1
    while 2 * n <= num_heads:
        n *= 2
    first = torch.pow(2.0, -8.0 * torch.arange(1, n + 1) / n)
    rest = torch.pow(2.0, -8.0 * torch.arange(1, 2 * n + 1, 2) / (2 * n))
    return torch.cat([first, rest])[:num_heads]


def alibi_attention(q, k, v):
    B, H, L, D = q.shape
    step = torch.arange(L, dtype=torch.float32)
    back = (step[None, :] - step[:, None]).clamp(max=0)
    bias = (alibi_slopes(H)[:, None, None] * back).repeat(B, 1, 1)
    Q, K = q.reshape(B * H, L, D).float(), k.reshape(B * H, L, D).float()
    if q.dtype == torch.float64:
        Q, K, bias = q.reshape(B * H, L, D), k.reshape(B * H, L, D), bias.double()
    s = torch.baddbmm(bias, Q, K.mT) / D**0.5  # first wrong
    s = s.masked_fill(torch.ones(L, L, dtype=torch.bool).triu(1), float("-inf"))
    w = torch.softmax(s, -1).to(v.dtype)
    return torch.bmm(w, v.reshape(B * H, L, D)).view(B, H, L, D)
