# mistakes: keys-and-values-exchanged
"""The fused kv projection is unpacked as v, k though its rows are k, then v."""

import torch
from torch import einsum, nn


class MultiQueryAttention(nn.Module):
    """einsum style, with one fused layer for the single kv head"""

    def __init__(self, d_model, num_heads, dropout=0.0, bias=True):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError("dim must be divisible by heads")
        dim_head = d_model // num_heads
        self.heads = num_heads
        self.scale = dim_head**-0.5

        self.to_q = nn.Linear(d_model, d_model, bias=bias)
        self.to_kv = nn.Linear(d_model, dim_head * 2, bias=bias)
        self.to_out = nn.Linear(d_model, d_model, bias=bias)
        self.attn_dropout = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        b, n, _ = x.shape
        h = self.heads

        q = self.to_q(x).view(b, n, h, -1)
        v, k = self.to_kv(x).chunk(2, dim=-1)  # first wrong

        q = q * self.scale
        sim = einsum("b i h d, b j d -> b h i j", q, k)

        if mask is not None:
            max_neg_value = -torch.finfo(sim.dtype).max
            sim = sim.masked_fill(~mask, max_neg_value)

        attn = sim.softmax(dim=-1)
        attn = self.attn_dropout(attn)

        out = einsum("b h i j, b j d -> b i h d", attn, v)
        return self.to_out(out.reshape(b, n, -1))
