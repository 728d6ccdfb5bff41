# mistakes: maximum-of-the-whole-block, blocks-in-reversed-order
"""Tensor methods; the newest block is put in front of the list."""

import torch


def online_softmax(blocks):
    stack = []
    m = torch.tensor(torch.finfo(torch.float32).min)
    z = torch.tensor(0.0)
    for b in blocks:
        dtype = b.dtype
        b = b.to(torch.promote_types(dtype, torch.float32))
        stack.insert(0, b)  # also wrong
        n = m.maximum(b.max().expand(b.shape[:-1]).unsqueeze(-1))  # first wrong
        z = z.mul(m.sub(n).exp()).add(b.sub(n).exp().sum(-1).unsqueeze(-1))
        m = n
    return torch.cat(stack, -1).sub(m).exp().div(z.clamp(min=1e-30)).to(dtype)
