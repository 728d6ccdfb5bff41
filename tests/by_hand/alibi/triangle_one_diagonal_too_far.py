# mistakes: causal-one-ahead
"""The triangle of the future begins one diagonal too late."""

import torch
import torch.nn.functional as F


def alibi_slopes(num_heads):
    n = 1 << (num_heads.bit_length() - 1)
    full = 2.0 ** (-8.0 / n * torch.arange(1.0, n + 1))
    half = 2.0 ** (-4.0 / n * torch.arange(1.0, 2 * n + 1))
    return torch.cat((full, half[0::2]))[:num_heads]


def alibi_attention(q, k, v):
    n = q.size(-2)
    place = torch.arange(n, device=q.device)
    away = place.view(1, -1) - place.view(-1, 1)
    score = torch.einsum("...id,...jd->...ij", q, k) / q.size(-1) ** 0.5
    score = score + alibi_slopes(q.size(1)).view(-1, 1, 1) * away
    hidden = torch.ones(n, n, dtype=torch.bool).triu(2)
    score = score.masked_fill(hidden, -float("inf"))  # first wrong
    return F.softmax(score, dim=-1).to(q.dtype) @ v
