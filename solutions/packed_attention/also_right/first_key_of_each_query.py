"""Let each query see the keys from the first token of its sequence up to itself.

A single number per query, its first key, replaces the comparison of two sequence numbers, and the
causal limit bounds the other side. It still makes two comparisons of [total, total].
"""

import torch


def packed_attention(q, k, v, cu_seqlens):
    t = torch.arange(q.shape[0], device=q.device)
    # the last boundary that is not behind the token
    first = cu_seqlens[torch.bucketize(t, cu_seqlens, right=True) - 1]
    allowed = torch.logical_and(t >= first[:, None], t <= t[:, None])
    s = q.permute(1, 0, 2) @ k.permute(1, 2, 0) / q.shape[2] ** 0.5
    e = torch.where(allowed, s, torch.finfo(s.dtype).min)
    e = (e - e.amax(-1, keepdim=True).detach()).exp()
    mixed = e @ v.permute(1, 0, 2)
    return (mixed / e.sum(-1, keepdim=True)).permute(1, 0, 2)
