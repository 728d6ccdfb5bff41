# mistakes: marks-behind-the-last-token
"""Marks at the first tokens, summed up."""

import torch


def packed_attention(q, k, v, cu_seqlens):
    n = q.shape[0]
    marks = torch.zeros(n, dtype=torch.long, device=q.device)
    marks[cu_seqlens[:-1]] = 1  # first wrong
    seq = torch.cumsum(marks, 0)
    causal = torch.ones(n, n, device=q.device).tril().bool()
    visible = causal & (seq.view(-1, 1) == seq)
    logits = torch.einsum("nhd,mhd->hnm", q / q.shape[-1] ** 0.5, k)
    w = logits.masked_fill(~visible, -1e9).softmax(dim=-1)
    return torch.einsum("hnm,mhd->nhd", w, v)
