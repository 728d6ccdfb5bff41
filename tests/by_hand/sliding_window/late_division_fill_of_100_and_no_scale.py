# mistakes: no-scale, mask-filled-with-minus-100
"""The division by the sum comes after the product with v."""

import torch


def sliding_window_attention(q, k, v, window):
    s = torch.matmul(q, k.mT)  # first wrong
    n = s.size(-1)
    t = torch.arange(n, device=s.device)
    inside = (t <= t.unsqueeze(-1)) & (t > t.unsqueeze(-1) - window)
    s = torch.where(inside, s, s.new_tensor(-100))  # also wrong
    numerators = torch.exp(s - s.max(dim=-1, keepdim=True)[0])
    return (numerators @ v) / numerators.sum(dim=-1)[..., None]
