# mistakes: block-sum-of-the-block-maximum, sum-with-a-large-epsilon
# diagnosis: not named
"""Short names, all steps in one loop."""

import torch


def online_softmax(blocks):
    ys = []
    g, s = None, 0.0
    for y in blocks:
        dtype = y.dtype
        y = y.to(torch.promote_types(dtype, torch.float32))
        a = y.max(-1, keepdim=True)[0].clamp(min=torch.finfo(y.dtype).min)
        p = torch.exp(y - a).sum(-1, keepdim=True)  # first wrong
        if g is None:
            g, s = a, p
        else:
            h = torch.maximum(g, a)
            s = s * torch.exp(g - h) + p
            g = h
        ys += [y]
    s = s + 0.001  # also wrong
    return (torch.cat([torch.exp(y - g) for y in ys], -1) / s).to(dtype)
