"""Compile the core with TorchScript, take k and v from one layer, and fill with -1e9.

If key and value are the same tensor, one product gives k and v. If they differ, the layer computes
twice as much as needed, and half of it is thrown away.
"""

from typing import Optional, Tuple

import torch
from torch import Tensor, nn


@torch.jit.script
def attend(q: Tensor, k: Tensor, v: Tensor, mask: Optional[Tensor], p: float, training: bool) -> Tuple[Tensor, Tensor]:
    scores = torch.matmul(q, k.transpose(-2, -1)) / float(q.size(-1)) ** 0.5
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    weights = torch.softmax(scores, dim=-1)
    return torch.matmul(torch.dropout(weights, p, training), v), weights


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model: int, num_heads: int, dropout: float = 0.0, bias: bool = True):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError("num_heads must divide d_model: " + str((d_model, num_heads)))
        self.shape = (num_heads, d_model // num_heads)
        self.wq = nn.Linear(d_model, d_model, bias=bias)
        self.wkv = nn.Linear(d_model, 2 * d_model, bias=bias)
        self.wo = nn.Linear(d_model, d_model, bias=bias)
        self.p = float(dropout)

    def forward(self, query, key, value, mask=None, return_weights=False):
        q = self.wq(query).unflatten(-1, self.shape).transpose(1, 2)
        if key is value:
            k, v = self.wkv(key).chunk(2, dim=-1)
        else:
            k, v = self.wkv(key).chunk(2, dim=-1)[0], self.wkv(value).chunk(2, dim=-1)[1]
        k = k.unflatten(-1, self.shape).transpose(1, 2)
        v = v.unflatten(-1, self.shape).transpose(1, 2)
        heads, weights = attend(q, k, v, mask, self.p, self.training)
        out = self.wo(heads.transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out
