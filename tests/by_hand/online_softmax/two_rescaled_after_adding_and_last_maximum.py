# mistakes: sum-rescaled-after-adding, last-block-maximum-in-the-result
# diagnosis: not named
"""The running values start as full tensors; a while loop asks for the next block."""

import torch


def online_softmax(blocks):
    it = iter(blocks)
    x = next(it)
    dtype = x.dtype
    wide = torch.promote_types(dtype, torch.float32)
    held = [x]
    m = torch.full_like(x[..., :1], torch.finfo(wide).min, dtype=wide)
    l = torch.zeros_like(m)
    while x is not None:
        x = x.to(wide)
        block_top = x.amax(-1, keepdim=True).clamp(min=torch.finfo(wide).min)
        m2 = torch.maximum(m, block_top)
        l = l + torch.exp(x - m2).sum(-1, keepdim=True)
        l = torch.exp(m - m2) * l  # first wrong
        m = m2
        x = next(it, None)
        if x is not None:
            held.append(x)
    l = l.clamp(min=1e-30)
    return torch.cat([torch.exp(h - block_top) / l for h in held], -1).to(dtype)  # also wrong
