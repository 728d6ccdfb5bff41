# mistakes: sequences-numbered-by-turns, softmax-over-queries
"""Helpers for the mask and the weights; even and odd sequences."""

import torch


def parity(n, edges):
    token = torch.arange(n, device=edges.device)
    return (token.unsqueeze(-1) >= edges).sum(dim=-1) % 2 == 1  # first wrong


def weights_of(q, k, keep):
    scores = (q @ k.mT).mul(q.size(-1) ** -0.5)
    return scores.masked_fill(keep.logical_not(), float("-inf")).softmax(dim=1)  # also wrong


def packed_attention(q, k, v, cu_seqlens):
    odd = parity(len(q), cu_seqlens)
    keep = odd[:, None].eq(odd[None]).tril()
    return (weights_of(q.swapaxes(0, 1), k.swapaxes(0, 1), keep) @ v.swapaxes(0, 1)).swapaxes(0, 1)
