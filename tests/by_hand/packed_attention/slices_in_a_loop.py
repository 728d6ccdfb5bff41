# mistakes: loop-over-sequences
"""Each sequence by itself, as the definition says."""

import torch


def packed_attention(q, k, v, cu_seqlens):
    out = torch.zeros_like(v)
    edges = cu_seqlens.tolist()
    for i in range(len(edges) - 1):  # first wrong
        lo, hi = edges[i], edges[i + 1]
        if lo == hi:
            continue
        a, b, c = q[lo:hi], k[lo:hi], v[lo:hi]
        s = torch.einsum("ihd,jhd->hij", a, b) / a.shape[-1] ** 0.5
        s = s + torch.full((hi - lo, hi - lo), float("-inf"), dtype=s.dtype).triu(1)
        out[lo:hi] = torch.einsum("hij,jhd->ihd", s.softmax(-1), c)
    return out
