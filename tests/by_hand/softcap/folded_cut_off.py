# mistakes: cap-by-clamp
"""Folded heads and bmm; clip for the cap."""

import torch


def softcap_attention(q, k, v, cap, mask=None):
    B, H, Lq, D = q.shape
    flat = lambda t: t.reshape(B * H, t.shape[2], D)
    s = torch.bmm(flat(q), flat(k).transpose(1, 2)).div(D**0.5)
    s = torch.clip(s, min=-cap, max=cap)  # first wrong
    s = s.view(B, H, Lq, -1)
    if mask is not None:
        s = s.masked_fill(mask.logical_not(), -1e9)
    p = torch.nn.functional.softmax(s, dim=3).reshape(B * H, Lq, -1)
    return torch.bmm(p, flat(v)).reshape(B, H, Lq, D)
