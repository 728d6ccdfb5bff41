# mistakes: scale-by-head-dim, mask-filled-with-minus-100
"""Queries divided by D; a mild constant hides the future."""

import torch


def alibi_slopes(num_heads):
    n = 1 << (num_heads.bit_length() - 1)
    def line(m):
        return (torch.arange(m, dtype=torch.float32) + 1).mul(-8 / m).exp2()
    return torch.cat([line(n), line(2 * n)[::2]])[:num_heads]


def alibi_attention(q, k, v):
    heads, n, d = q.shape[1:]
    scores = torch.matmul(q.div(d), k.movedim(-1, -2))  # first wrong
    steps = torch.arange(n)
    diff = steps[None] - steps[:, None]
    scores = scores + alibi_slopes(heads)[:, None, None] * diff
    scores[..., diff > 0] = -100  # also wrong
    return torch.matmul(scores.softmax(dim=-1).to(q.dtype), v)
