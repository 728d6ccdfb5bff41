# mistakes: cap-of-the-output
"""The softmax is written out, and the cap comes last."""

import torch


def softcap_attention(q, k, v, cap, mask=None):
    bias = 0
    if mask is not None:
        bias = torch.zeros_like(mask, dtype=q.dtype).masked_fill(~mask, -torch.inf)
    s = (q / q.size(-1) ** 0.5) @ k.transpose(-1, -2)
    s = s + bias
    e = torch.exp(s - s.max(dim=-1, keepdim=True).values)  # first wrong
    mean = (e @ v) / e.sum(-1, keepdim=True)
    return cap * torch.tanh(mean / cap)
