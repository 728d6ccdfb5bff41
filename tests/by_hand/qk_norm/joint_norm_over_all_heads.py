# mistakes: norm-over-all-heads
"""The norm comes before the split into heads, with the weight repeated for the heads."""

import torch
from torch import nn


class Rms(nn.Module):
    def __init__(self, dim, eps):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.eps = eps

    def forward(self, row):
        """[B, L, heads * D], normalised as a whole"""
        gain = self.weight.repeat(row.shape[-1] // len(self.weight))
        size = row.square().mean(-1, keepdim=True)  # first wrong
        return row * torch.rsqrt(size + self.eps) * gain


class QKNormAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, head_dim=None, eps=1e-6):
        super().__init__()
        if head_dim is None and d_model % num_heads != 0:
            raise ValueError(f"{d_model=} {num_heads=}")
        if num_heads % num_kv_heads != 0:
            raise ValueError(f"{num_heads=} {num_kv_heads=}")
        self.head_dim = head_dim or d_model // num_heads
        self.to_q = nn.Linear(d_model, self.head_dim * num_heads, bias=False)
        self.to_k = nn.Linear(d_model, self.head_dim * num_kv_heads, bias=False)
        self.to_v = nn.Linear(d_model, self.head_dim * num_kv_heads, bias=False)
        self.to_out = nn.Linear(self.head_dim * num_heads, d_model, bias=False)
        self.q_norm = Rms(self.head_dim, eps)
        self.k_norm = Rms(self.head_dim, eps)

    def heads(self, row):
        return torch.stack(row.split(self.head_dim, dim=-1), dim=1)

    def forward(self, x, mask=None):
        q = self.heads(self.q_norm(self.to_q(x)))
        k = self.heads(self.k_norm(self.to_k(x)))
        v = self.heads(self.to_v(x))
        which = torch.arange(q.shape[1], device=x.device) * k.shape[1] // q.shape[1]
        sim = torch.matmul(q, k[:, which].transpose(-1, -2)) * self.head_dim**-0.5
        if mask is not None:
            sim = torch.where(mask, sim, torch.finfo(sim.dtype).min)
        mixed = torch.matmul(torch.softmax(sim, dim=-1), v[:, which])
        return self.to_out(torch.cat(mixed.unbind(1), dim=-1))
