"""Reshape the weights instead of the activations, and let einsum split and join the heads.

The biases need additions of their own, and the scale costs L * D multiplications per head instead
of L * L. The layers are never called, so their forward hooks do not run.
"""

import torch
from torch import nn


class FusedMultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0, bias=True):
        super().__init__()
        self.heads = num_heads
        self.dim, left_over = divmod(d_model, num_heads)
        if left_over:
            raise ValueError(f"{d_model} features do not make {num_heads} equal heads")
        self.qkv_proj = nn.Linear(d_model, d_model * 3, bias=bias)
        self.o_proj = nn.Linear(d_model, d_model, bias=bias)
        self.drop = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        weight = self.qkv_proj.weight.unflatten(0, (3, self.heads, self.dim))
        qkv = torch.einsum("blm,chdm->cbhld", x, weight)
        if self.qkv_proj.bias is not None:
            qkv = qkv + self.qkv_proj.bias.view(3, 1, self.heads, 1, self.dim)
        q, k, v = qkv[0] * self.dim**-0.5, qkv[1], qkv[2]
        s = torch.einsum("bhid,bhjd->bhij", q, k)
        if mask is not None:
            s = s.masked_fill(mask.logical_not(), torch.finfo(s.dtype).min)
        p = self.drop(s.softmax(dim=3))
        z = torch.einsum("bhij,bhjd->bihd", p, v)
        w_o = self.o_proj.weight.unflatten(1, (self.heads, self.dim))
        out = torch.einsum("bihd,mhd->bim", z, w_o)
        return out if self.o_proj.bias is None else out + self.o_proj.bias
