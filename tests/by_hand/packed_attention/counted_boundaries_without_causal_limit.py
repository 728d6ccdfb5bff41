# mistakes: causal-limit-missing
"""Numbers of documents by counting boundaries; nested functions."""

import math

import torch


def packed_attention(q, k, v, cu_seqlens):
    def document(token):
        return torch.ge(token[:, None], cu_seqlens[None]).sum(-1)

    number = document(torch.arange(q.size(0), device=q.device))
    together = torch.eq(number.view(-1, 1), number.view(1, -1))  # first wrong
    s = q.permute(1, 0, 2).matmul(k.permute(1, 2, 0)).div(math.sqrt(q.size(2)))
    s = torch.where(together, s, -math.inf)
    p = torch.exp(s - s.logsumexp(-1, keepdim=True))
    return p.matmul(v.permute(1, 0, 2)).permute(1, 0, 2)
