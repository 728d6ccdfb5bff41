# mistakes: cap-after-the-mask
"""Mask right after the product, as in plain attention; the cap is added later."""

import torch


def softcap_attention(q, k, v, cap, mask=None):
    a = torch.einsum("bhid,bhjd->bhij", q, k) * q.size(-1) ** -0.5
    if mask is not None:
        a = torch.where(mask, a, -torch.inf)
    a = cap * (a / cap).tanh()  # first wrong
    return torch.einsum("bhij,bhjd->bhid", a.softmax(dim=-1), v)
