# mistakes: slopes-formula-for-every-count
"""A list of slopes by repeated multiplication; einsum for the attention."""

import torch


def alibi_slopes(num_heads):
    ratio = 2.0 ** (-8.0 / num_heads)
    found = [ratio]
    while len(found) < num_heads:
        found.append(found[-1] * ratio)
    return torch.tensor(found, dtype=torch.float32)  # first wrong


def alibi_attention(q, k, v):
    n, d = q.shape[-2:]
    scores = torch.einsum("bhid,bhjd->bhij", q, k).float() / d**0.5
    age = torch.arange(n)[:, None] - torch.arange(n)
    scores = scores - alibi_slopes(q.shape[1]).view(-1, 1, 1) * age
    scores = torch.where(age < 0, -1e9, scores)
    return torch.einsum("bhij,bhjd->bhid", scores.softmax(-1).to(q.dtype), v)
