"""Write the weights of a single head as a function, and map it over batch and heads with vmap.

The function is easy to read without these axes, but each call of vmap has some overhead in Python.
A missing mask becomes an expanded True, so torch.where runs over all scores needlessly.
"""

import torch
from torch import nn
from torch.func import vmap


def one_head(q, k, v, keep):
    scores = torch.inner(q, k) / q.shape[-1] ** 0.5
    weights = torch.softmax(torch.where(keep, scores, -torch.inf), dim=-1)
    return weights, v


class FusedMultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0, bias=True):
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"d_model={d_model} must be a multiple of num_heads={num_heads}")
        self.num_heads = num_heads
        self.first = nn.Linear(d_model, 3 * d_model, bias=bias)
        self.last = nn.Linear(d_model, d_model, bias=bias)
        self.drop = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        batch, length, width = x.shape
        qkv = self.first(x).view(batch, length, 3, self.num_heads, width // self.num_heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        if mask is None:
            mask = torch.ones((), dtype=torch.bool, device=x.device)
        keep = mask.expand(batch, self.num_heads, length, length)
        weights, v = vmap(vmap(one_head))(q, k, v, keep)
        return self.last(torch.einsum("bhij,bhjd->bihd", self.drop(weights), v).reshape(batch, length, width))
