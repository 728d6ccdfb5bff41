# mistakes: mask-after-softmax
"""A nested function for the mask, which multiplies the finished weights."""

import torch


def sliding_window_attention(q, k, v, window):
    def keep():
        index = torch.arange(q.shape[-2], device=q.device)
        age = index[:, None] - index
        return torch.logical_and(age.ge(0), age.lt(window)).to(q.dtype)

    raw = q @ k.swapaxes(-1, -2)
    share = torch.nn.functional.softmax(raw.div(q.shape[-1] ** 0.5), -1)  # first wrong
    share = torch.mul(share, keep())
    return share @ v
