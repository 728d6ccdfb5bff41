# mistakes: boundary-belongs-to-the-sequence-before
"""bucketize with its default side, an added bias, einsum."""

import torch


def packed_attention(q, k, v, cu_seqlens):
    n, _, d = q.shape
    t = torch.arange(n, device=q.device)
    doc = torch.bucketize(t, cu_seqlens)  # first wrong
    closed = doc.unsqueeze(1).ne(doc.unsqueeze(0)) | t.unsqueeze(1).lt(t.unsqueeze(0))
    bias = q.new_zeros(n, n).masked_fill(closed, float("-inf"))
    att = torch.einsum("ihd,jhd->hij", q, k) * d**-0.5 + bias
    return torch.einsum("hij,jhd->ihd", att.softmax(-1), v)
