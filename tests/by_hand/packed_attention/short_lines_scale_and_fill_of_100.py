# mistakes: scale-by-head-dim, mask-filled-with-minus-100
"""Many short lines."""

import torch


def packed_attention(q, k, v, cu_seqlens):
    n = q.shape[0]
    t = torch.arange(n)
    s = torch.bucketize(t, cu_seqlens, right=True)
    hide = s[:, None] != s[None, :]
    hide = hide | (t[None, :] > t[:, None])
    a = q.transpose(0, 1)
    b = k.transpose(0, 1)
    c = v.transpose(0, 1)
    dots = torch.matmul(a, b.mT)
    dots = dots / q.shape[-1]  # first wrong
    dots = dots.masked_fill(hide, -100)  # also wrong
    w = torch.nn.functional.softmax(dots, -1)
    out = torch.matmul(w, c)
    return out.transpose(0, 1)
