"""Use three layers for q, k and v instead of the fused layer.

The FLOPs are the same, but three smaller products read x three times. A checkpoint with the fused
weight must be cut into three parts before it can be loaded.
"""

from math import sqrt

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def split_heads(t: Tensor, heads: int) -> Tensor:
    b, n, m = t.shape
    return t.reshape(b, n, heads, m // heads).permute(0, 2, 1, 3)


class FusedMultiHeadAttention(nn.Module):
    def __init__(self, d_model: int, num_heads: int, dropout: float = 0.0, bias: bool = True) -> None:
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"cannot cut {d_model} features into {num_heads} heads")
        self.num_heads, self.p = num_heads, dropout
        self.W_q = nn.Linear(d_model, d_model, bias)
        self.W_k = nn.Linear(d_model, d_model, bias)
        self.W_v = nn.Linear(d_model, d_model, bias)
        self.W_o = nn.Linear(d_model, d_model, bias)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        q, k, v = (split_heads(layer(x), self.num_heads) for layer in (self.W_q, self.W_k, self.W_v))
        logits = torch.matmul(q, k.transpose(2, 3)) / sqrt(q.size(-1))
        if mask is not None:
            logits = torch.where(mask, logits, torch.full_like(logits, -1e9))
        weights = F.dropout(F.softmax(logits, dim=-1), p=self.p, training=self.training)
        return self.W_o(torch.matmul(weights, v).permute(0, 2, 1, 3).flatten(start_dim=2))
