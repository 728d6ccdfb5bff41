"""Project q, k and v with one layer, normalise with F.rms_norm, and compute the softmax in float32.

One product instead of three starts fewer kernels. The float32 softmax keeps more digits for
bfloat16 inputs and takes twice the memory there.
"""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class Weight(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(n))


class QKNormAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, head_dim=None, eps=1e-6):
        super().__init__()
        if (head_dim is None and d_model % num_heads) or num_heads % num_kv_heads:
            raise ValueError(f"heads do not fit: {d_model}, {num_heads}, {num_kv_heads}")
        self.head_dim, self.eps = head_dim or d_model // num_heads, eps
        self.sizes = (num_heads, num_kv_heads, num_kv_heads)
        self.qkv_proj = nn.Linear(d_model, sum(self.sizes) * self.head_dim, bias=False)
        self.out_proj = nn.Linear(num_heads * self.head_dim, d_model, bias=False)
        self.q_norm, self.k_norm = Weight(self.head_dim), Weight(self.head_dim)

    def norm(self, t, weight):
        return F.rms_norm(t, t.shape[-1:], weight, self.eps)

    def forward(self, x, mask=None):
        heads = self.qkv_proj(x).unflatten(-1, (-1, self.head_dim)).transpose(1, 2)
        q, k, v = heads.split(self.sizes, dim=1)
        q, k = self.norm(q, self.q_norm.weight), self.norm(k, self.k_norm.weight)
        copies = q.shape[1] // k.shape[1]
        k, v = (t.repeat_interleave(copies, dim=1) for t in (k, v))
        logits = torch.matmul(q, k.mT) / math.sqrt(self.head_dim)
        if mask is not None:
            logits = logits.masked_fill(mask.logical_not(), -1e9)
        shares = torch.softmax(logits, dim=-1, dtype=torch.float32).type_as(v)
        return self.out_proj(torch.matmul(shares, v).transpose(1, 2).flatten(2))
