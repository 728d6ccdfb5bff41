# mistakes: scale-by-head-dim, mean-missing
"""Short lines; two wrong steps."""

import torch


def attention_backward(q, k, v, grad_out, mask=None):
    c = 1 / q.shape[-1]
    s = q @ k.swapaxes(-1, -2)
    s = s * c  # first wrong
    if mask is not None:
        s = s.masked_fill(~mask, torch.finfo(s.dtype).min)
    p = s.softmax(-1)
    dv = p.swapaxes(-1, -2) @ grad_out
    dp = grad_out @ v.swapaxes(-1, -2)
    ds = p * dp  # also wrong
    ds = ds * c
    return ds @ k, ds.swapaxes(-1, -2) @ q, dv
