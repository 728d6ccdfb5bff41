# mistakes: cap-as-softsign, mask-inverted
"""Short lines with short names."""

import torch


def softcap_attention(q, k, v, cap, mask=None):
    d = q.shape[-1]
    s = q @ k.mT
    s = s / d**0.5
    a = torch.abs(s)
    s = cap * s / (cap + a)  # first wrong
    if mask is not None:
        s = torch.where(mask, -1e9, s)  # also wrong
    w = torch.softmax(s, -1)
    return w @ v
