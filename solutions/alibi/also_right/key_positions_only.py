"""Add slope * (j - last), which differs from slope * (j - i) by a constant in every row.

The bias is one row of L numbers for each head instead of a matrix. Near the beginning of a long
text the numbers are large and lose digits, so the addition must be in float32.
"""

import torch
import torch.nn.functional as F


def alibi_slopes(num_heads):
    power = 1 << (num_heads.bit_length() - 1)
    i = torch.arange(num_heads, dtype=torch.float64)
    exponent = torch.where(i < power, -8 * (i + 1) / power, -4 * (2 * (i - power) + 1) / power)
    return torch.exp2(exponent).float()


def alibi_attention(q, k, v):
    H, L, D = q.shape[1:]
    row = torch.arange(L, device=q.device) - (L - 1)
    bias = alibi_slopes(H).to(q.device)[:, None, None] * row
    scores = torch.matmul(q, k.mT) * D**-0.5 + bias
    future = torch.ones(L, L, dtype=torch.bool, device=q.device).triu(diagonal=1)
    p = F.softmax(scores.masked_fill(future, torch.finfo(scores.dtype).min), dim=-1)
    return p.type_as(v) @ v
