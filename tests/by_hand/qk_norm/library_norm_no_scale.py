# mistakes: no-scale
"""nn.RMSNorm on queries and keys; whoever normalises needs no scale, says a comment."""

import torch
from torch import nn


class QKNormAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, head_dim=None, eps=1e-6):
        super().__init__()
        if (head_dim is None and d_model % num_heads != 0) or num_heads % num_kv_heads != 0:
            raise ValueError(f"d_model {d_model}, num_heads {num_heads}, num_kv_heads {num_kv_heads}")
        d = d_model // num_heads if head_dim is None else head_dim
        self.H, self.G, self.D = num_heads, num_kv_heads, d
        self.W_q = nn.Linear(d_model, self.H * d, bias=False)
        self.W_k = nn.Linear(d_model, self.G * d, bias=False)
        self.W_v = nn.Linear(d_model, self.G * d, bias=False)
        self.W_o = nn.Linear(self.H * d, d_model, bias=False)
        self.q_norm = nn.RMSNorm(d, eps)
        self.k_norm = nn.RMSNorm(d, eps)

    def forward(self, x, mask=None):
        head = torch.arange(self.H, device=x.device) // (self.H // self.G)
        q = self.W_q(x).unflatten(-1, (self.H, self.D))
        k = self.W_k(x).unflatten(-1, (self.G, self.D))
        v = self.W_v(x).unflatten(-1, (self.G, self.D))[:, :, head]
        q, k = self.q_norm(q), self.k_norm(k)[:, :, head]
        s = torch.einsum("bihd,bjhd->bhij", q, k)
        if mask is not None:
            s = s.masked_fill(~mask, -1e9)
        # normalised already: no scale
        w = s.softmax(-1)  # first wrong
        return self.W_o(torch.einsum("bhij,bjhd->bihd", w, v).flatten(2))
