"""The core of attention recomputed in the backward pass (reentrant checkpoint)."""
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, dropout=0.0, bias=True):
        super().__init__()
        if d_model % num_heads or num_heads % num_kv_heads:
            raise ValueError(f"cannot split {d_model} into {num_heads} heads in {num_kv_heads} groups")
        self.H, self.G, self.D = num_heads, num_kv_heads, d_model // num_heads
        self.q_proj = nn.Linear(d_model, d_model, bias=bias)
        self.k_proj = nn.Linear(d_model, self.G * self.D, bias=bias)
        self.v_proj = nn.Linear(d_model, self.G * self.D, bias=bias)
        self.o_proj = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def core(self, q, k, v, mask):
        s = torch.matmul(q, k.transpose(-1, -2)) / self.D**0.5
        if mask is not None:
            s = s.masked_fill(mask == 0, -1e9)
        return torch.matmul(self.dropout(torch.softmax(s, -1)), v)

    def forward(self, x, mask=None):
        B, L, M = x.shape
        q = self.q_proj(x).view(B, L, self.H, self.D).permute(0, 2, 1, 3)
        k = self.k_proj(x).view(B, L, self.G, self.D).permute(0, 2, 1, 3).repeat_interleave(self.H // self.G, 1)
        v = self.v_proj(x).view(B, L, self.G, self.D).permute(0, 2, 1, 3).repeat_interleave(self.H // self.G, 1)
        o = checkpoint(self.core, q, k, v, mask, use_reentrant=True)
        return self.o_proj(o.permute(0, 2, 1, 3).contiguous().view(B, L, M))
