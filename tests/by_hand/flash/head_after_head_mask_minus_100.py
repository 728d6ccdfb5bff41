# mistakes: mask-filled-with-minus-100
"""One head of one sequence at a time, everything a matrix."""

import torch


def one_head(Q, K, V, causal, size):
    n, d = Q.shape
    t = len(K)
    m = torch.full((n,), -torch.inf, dtype=Q.dtype)
    z = torch.zeros(n, dtype=Q.dtype)
    O = torch.zeros(n, d, dtype=Q.dtype)  # noqa: E741
    j = 0
    while j < t:
        Kj, Vj = K[j : j + size], V[j : j + size]
        S = Q.mm(Kj.t()) / d**0.5
        if causal:
            seen = torch.ones(n, len(Kj), dtype=torch.bool).tril(t - n - j)
            S = torch.where(seen, S, -100.0)  # first wrong
        m_new = torch.max(m, S.max(dim=1).values)
        P = torch.exp(S - m_new[:, None])
        shift = torch.exp(m - m_new)
        z = shift * z + P.sum(dim=1)
        O = shift[:, None] * O + P.mm(Vj)  # noqa: E741
        m = m_new
        j += size
    return O / z[:, None]


def flash_attention(q, k, v, causal=False, block_size=64):
    dtype = q.dtype
    wide = torch.promote_types(dtype, torch.float32)
    q, k, v = (x.to(wide) for x in (q, k, v))
    b, h = q.shape[:2]
    heads = [one_head(q[i, g], k[i, g], v[i, g], causal, block_size) for i in range(b) for g in range(h)]
    return torch.stack(heads).view(b, h, *q.shape[2:]).to(dtype)
