# mistakes: bias-of-squared-distance
"""exp, sum and division by hand; the distance is squared like a Gaussian window."""

import torch


def alibi_slopes(num_heads):
    n = 2 ** (len(bin(num_heads)) - 3)
    whole = torch.logspace(-8 / n, -8, n, base=2.0)
    halves = torch.logspace(-4 / n, -8, 2 * n, base=2.0)[::2]
    return torch.cat((whole, halves[: num_heads - n]))


def alibi_attention(q, k, v):
    t = torch.arange(q.shape[2], device=q.device)
    gap = t.unsqueeze(0) - t.unsqueeze(1)
    m = alibi_slopes(q.shape[1]).reshape(-1, 1, 1)
    logits = (q * q.shape[3] ** -0.5) @ k.mT
    logits = logits - m * gap * gap  # first wrong
    logits = torch.where(gap > 0, float("-inf"), logits)
    e = torch.exp(logits - logits.amax(-1, keepdim=True))
    return ((e / e.sum(-1, keepdim=True)).to(q.dtype)) @ v
