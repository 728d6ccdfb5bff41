"""Softmax in its parts: the maximum of each row, exp, and the sum only divided out of the result."""

import torch


def scaled_dot_product_attention(q, k, v, mask=None):
    d = torch.tensor(q.shape[-1], dtype=torch.float32)
    s = torch.matmul(q, k.swapaxes(-1, -2)) / torch.sqrt(d)
    if mask is not None:
        s = torch.where(mask, s, torch.tensor(float("-inf"), dtype=s.dtype))
    m, _ = s.detach().max(dim=-1, keepdim=True)
    e = torch.exp(s - m)
    numerator = torch.matmul(e, v)
    denominator = e.sum(dim=-1, keepdim=True)
    return numerator / denominator
