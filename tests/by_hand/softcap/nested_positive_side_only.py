# mistakes: cap-from-above-only
"""Everything in nested functions; only the large positive side is bent."""

import torch


def softcap_attention(q, k, v, cap, mask=None):
    def score():
        return torch.matmul(q, k.transpose(3, 2)).div(q.shape[3] ** 0.5)

    def bend(x):
        up = cap * torch.tanh(torch.relu(x) / cap)
        return up - torch.relu(-x)  # first wrong

    def closed(x):
        return x if mask is None else torch.where(mask, x, torch.full_like(x, -1e9))

    return torch.matmul(torch.softmax(closed(bend(score())), dim=-1), v)
