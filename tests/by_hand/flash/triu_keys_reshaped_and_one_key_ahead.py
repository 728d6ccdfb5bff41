# mistakes: keys-reshaped, one-key-ahead
"""Blocks from the edges of a list, hidden keys by triu, the last division as a product with the reciprocal."""

import torch
from torch import Tensor


def flash_attention(q: Tensor, k: Tensor, v: Tensor, causal: bool = False, block_size: int = 64) -> Tensor:
    dtype = q.dtype
    wide = torch.promote_types(dtype, torch.float32)
    q, k, v = (x.to(wide) for x in (q, k, v))
    B, H, N, D = q.size()
    M = k.size(2)
    edges = [*range(0, M, block_size), M]
    biggest = torch.full((B, H, N), -torch.inf, dtype=q.dtype, device=q.device)
    norm = torch.zeros((B, H, N), dtype=q.dtype, device=q.device)
    result = torch.zeros((B, H, N, D), dtype=q.dtype, device=q.device)
    for lo, hi in zip(edges[:-1], edges[1:], strict=True):
        k_t = k[:, :, lo:hi].reshape(B, H, D, hi - lo)  # first wrong
        score = torch.matmul(q, k_t) / D**0.5
        if causal:
            future = torch.ones(N, hi - lo, dtype=torch.bool, device=q.device).triu(M - N - lo + 2)  # also wrong
            score = score.masked_fill(future, -torch.inf)
        now = torch.maximum(biggest, score.amax(dim=-1))
        weight = torch.exp(score - now[:, :, :, None])
        fade = torch.exp(biggest - now)
        norm = fade * norm + weight.sum(dim=-1)
        result = fade[:, :, :, None] * result + torch.matmul(weight, v[:, :, lo:hi])
        biggest = now
    return (result * norm.reciprocal()[:, :, :, None]).to(dtype)
