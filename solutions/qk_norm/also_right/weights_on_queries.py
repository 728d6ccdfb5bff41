"""Give the product of both weights to the queries, because a score depends only on their product.

The keys are then normalised without a weight, which saves a pass over them. With a rotation between
norm and scores (RoPE) this would be a different function, so Qwen3 cannot do it.
"""

import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))


class QKNormAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, head_dim=None, eps=1e-6):
        super().__init__()
        if num_heads % num_kv_heads != 0 or (head_dim is None and d_model % num_heads != 0):
            raise ValueError((d_model, num_heads, num_kv_heads))
        self.num_heads, self.num_kv_heads, self.eps = num_heads, num_kv_heads, eps
        self.size = d_model // num_heads if head_dim is None else head_dim
        self.to_q = nn.Linear(d_model, num_heads * self.size, bias=False)
        self.to_kv = nn.Linear(d_model, 2 * num_kv_heads * self.size, bias=False)
        self.to_out = nn.Linear(num_heads * self.size, d_model, bias=False)
        self.q_norm, self.k_norm = RMSNorm(self.size), RMSNorm(self.size)

    def unit(self, t):
        wide = t.to(torch.promote_types(t.dtype, torch.float32))
        return (wide / (wide.square().mean(-1, keepdim=True) + self.eps).sqrt()).to(t.dtype)

    def forward(self, x, mask=None):
        b, n, _ = x.shape
        head = torch.arange(self.num_heads, device=x.device)
        shared = head // (self.num_heads // self.num_kv_heads)
        both = self.q_norm.weight * self.k_norm.weight
        q = self.unit(self.to_q(x).view(b, n, self.num_heads, self.size)) * both
        k, v = self.to_kv(x).view(b, n, 2, self.num_kv_heads, self.size)[:, :, :, shared].unbind(2)
        energy = torch.einsum("bihd,bjhd->bhij", q, self.unit(k)) / self.size**0.5
        if mask is not None:
            bias = torch.zeros_like(mask, dtype=energy.dtype)
            energy = energy + bias.masked_fill(~mask, float("-inf"))
        weights = torch.exp(energy - energy.logsumexp(-1, keepdim=True))
        return self.to_out(torch.einsum("bhij,bjhd->bihd", weights, v).flatten(2))
