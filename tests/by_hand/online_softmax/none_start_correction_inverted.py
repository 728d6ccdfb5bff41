# mistakes: correction-upside-down-but-for-the-first
# diagnosis: not named
"""The first block is a branch of its own."""

import torch


def online_softmax(blocks):
    xs = []
    m = d = None
    for x in blocks:
        dtype = x.dtype
        x = x.to(torch.promote_types(dtype, torch.float32))
        xs.append(x)
        bm = torch.amax(x, -1, keepdim=True).clamp(min=torch.finfo(x.dtype).min)
        if m is None:
            m = bm
            d = torch.exp(x - m).sum(-1, keepdim=True)
        else:
            m_next = torch.maximum(m, bm)
            d = d / (m - m_next).exp() + torch.exp(x - m_next).sum(-1, keepdim=True)  # first wrong
            m = m_next
    return (torch.exp(torch.cat(xs, -1) - m) / d.clamp(min=1e-30)).to(dtype)
