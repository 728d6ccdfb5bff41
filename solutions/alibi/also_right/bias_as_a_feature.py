"""Append a feature to queries and keys whose product is slope * (j - i).

The scores then come from one matrix product with D + 2 features, so any attention kernel without a
bias can compute ALiBi. The positions need at least float32, and the appended features enlarge q and
k.
"""

import torch


def alibi_slopes(num_heads):
    n = 1
    while 2 * n <= num_heads:
        n *= 2
    first = [2.0 ** (-8.0 * (i + 1) / n) for i in range(n)]
    rest = [2.0 ** (-4.0 * (2 * i + 1) / n) for i in range(num_heads - n)]
    return torch.tensor(first + rest)


def alibi_attention(q, k, v):
    b, h, n, d = q.shape
    fine = torch.promote_types(q.dtype, torch.float32)
    t = torch.arange(n, device=q.device, dtype=fine).view(1, 1, n, 1).expand(b, h, n, 1)
    m = alibi_slopes(h).to(q.device, fine).view(1, h, 1, 1).expand(b, h, n, 1)
    # (q / sqrt(D)) · k + m * j + (-m * i) * 1
    long_q = torch.cat([q.to(fine) / d**0.5, m, -m * t], dim=-1)
    long_k = torch.cat([k.to(fine), t, torch.ones_like(t)], dim=-1)
    scores = long_q @ long_k.mT
    hidden = torch.arange(n, device=q.device) > torch.arange(n, device=q.device)[:, None]
    return scores.masked_fill(hidden, float("-inf")).softmax(-1).to(q.dtype) @ v
