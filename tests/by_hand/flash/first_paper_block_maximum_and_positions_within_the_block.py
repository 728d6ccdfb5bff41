# mistakes: weights-from-the-block-maximum, key-positions-within-the-block
"""With the first paper's letters: m_ij, l_ij and P_ij of the block, m, l and O of all so far."""

import math

import torch


def flash_attention(q, k, v, causal=False, block_size=64):
    Q, K, V = (x.to(torch.promote_types(x.dtype, torch.float32)) for x in (q, k, v))
    B, H, N, d = Q.shape
    T = K.shape[2]
    tau = 1.0 / math.sqrt(d)
    rows = torch.arange(T - N, T)[:, None]
    O = torch.zeros(B, H, N, d, dtype=Q.dtype)  # noqa: E741
    l = torch.zeros(B, H, N, 1, dtype=Q.dtype)  # noqa: E741
    m = torch.full((B, H, N, 1), -math.inf, dtype=Q.dtype)

    for K_j, V_j in zip(K.split(block_size, dim=2), V.split(block_size, dim=2), strict=True):
        cols = torch.arange(K_j.shape[2])  # first wrong
        S_ij = tau * torch.einsum("bhnd,bhtd->bhnt", Q, K_j)
        if causal:
            S_ij = torch.where(rows >= cols, S_ij, torch.finfo(S_ij.dtype).min)
        m_ij = S_ij.amax(dim=-1, keepdim=True)
        P_ij = torch.exp(S_ij - m_ij)  # also wrong
        l_ij = P_ij.sum(dim=-1, keepdim=True)
        m_new = torch.maximum(m, m_ij)
        alpha = torch.exp(m - m_new)
        l = alpha * l + l_ij  # noqa: E741
        O = alpha * O + torch.einsum("bhnt,bhtd->bhnd", P_ij, V_j)  # noqa: E741
        m = m_new
    return (O / l).to(q.dtype)
