# mistakes: values-tiled
"""Key/value heads fetched by a list of indices, one for each query head; scores by einsum."""

import torch
from torch import nn


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, dropout=0.0, bias=True):
        super().__init__()
        if d_model % num_heads != 0 or num_heads % num_kv_heads != 0:
            raise ValueError(f"d_model {d_model}, num_heads {num_heads}, num_kv_heads {num_kv_heads}")
        self.H, self.G = num_heads, num_kv_heads
        self.D = d_model // num_heads
        self.W_q = nn.Linear(d_model, self.H * self.D, bias=bias)
        self.W_k = nn.Linear(d_model, self.G * self.D, bias=bias)
        self.W_v = nn.Linear(d_model, self.G * self.D, bias=bias)
        self.W_o = nn.Linear(self.H * self.D, d_model, bias=bias)
        self.drop = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        head = torch.arange(self.H, device=x.device)
        q = self.W_q(x).unflatten(-1, (self.H, self.D)) / self.D**0.5
        k = self.W_k(x).unflatten(-1, (self.G, self.D))[:, :, head // (self.H // self.G)]
        v = self.W_v(x).unflatten(-1, (self.G, self.D))[:, :, head % self.G]  # first wrong
        s = torch.einsum("bihd,bjhd->bhij", q, k)
        if mask is not None:
            s = s.masked_fill(~mask, torch.finfo(s.dtype).min)
        a = self.drop(s.softmax(-1))
        return self.W_o(torch.einsum("bhij,bjhd->bihd", a, v).flatten(2))
