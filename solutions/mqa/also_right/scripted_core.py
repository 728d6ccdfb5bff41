"""Multiply the queries by the weight of k_proj, so that they meet x instead of the keys.

The queries have M features per head instead of D, so they take H times the memory and the scores
need H times the FLOPs. The bias of k_proj does not change the softmax and gets no gradient here.
"""

import math

import torch
from torch import Tensor, nn


@torch.jit.script
def attend(q: Tensor, x: Tensor, bias: Tensor) -> Tensor:
    scores = torch.matmul(q, x.unsqueeze(1).transpose(2, 3))
    return torch.softmax(scores + bias, dim=-1)


class MultiQueryAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0, bias=True):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"{num_heads} does not divide {d_model}")
        self.num_heads, self.head_dim = num_heads, d_model // num_heads
        self.q_proj = nn.Linear(d_model, d_model, bias=bias)
        self.k_proj = nn.Linear(d_model, self.head_dim, bias=bias)
        self.v_proj = nn.Linear(d_model, self.head_dim, bias=bias)
        self.o_proj = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        batch, length, d_model = x.shape
        q = self.q_proj(x).view(batch, length, self.num_heads, self.head_dim).transpose(1, 2)
        # the bias of k_proj adds the same number to all scores of a row, which softmax does not feel
        q = torch.matmul(q, self.k_proj.weight) / math.sqrt(self.head_dim)
        bias = torch.zeros([1], dtype=x.dtype, device=x.device)
        if mask is not None:
            bias = torch.zeros_like(mask, dtype=x.dtype).masked_fill(~mask, -math.inf)
        weights = self.dropout(attend(q, x, bias))
        heads = torch.matmul(weights, self.v_proj(x).unsqueeze(1))
        return self.o_proj(heads.transpose(1, 2).reshape(batch, length, d_model))
