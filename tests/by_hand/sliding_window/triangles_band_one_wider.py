# mistakes: mask-one-key-too-many
"""The band from two triangles, an additive bias, softmax in float32."""

import torch
import torch.nn.functional as F


def sliding_window_attention(q, k, v, window):
    n = q.size(-2)
    ones = torch.ones(n, n, dtype=torch.bool, device=q.device)
    band = ones.tril().triu(-window)  # first wrong
    bias = torch.zeros(n, n, dtype=q.dtype, device=q.device).masked_fill(~band, float("-inf"))
    att = torch.einsum("bhid,bhjd->bhij", q, k) * q.size(-1) ** -0.5 + bias
    att = F.softmax(att, dim=-1, dtype=torch.float32).type_as(v)
    return torch.einsum("bhij,bhjd->bhid", att, v)
