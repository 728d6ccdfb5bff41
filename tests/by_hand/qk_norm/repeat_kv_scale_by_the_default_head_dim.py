# mistakes: scale-by-the-default-head-dim
# diagnosis: line elsewhere
"""head_dim sets the projections and norms, but the scale still comes from d_model / num_heads."""

import torch
from torch import nn


def repeat_kv(t, times):
    b, h, n, d = t.shape
    return t[:, :, None].expand(b, h, times, n, d).reshape(b, h * times, n, d)


class QKNormAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, head_dim=None, eps=1e-6):
        super().__init__()
        if num_heads % num_kv_heads:
            raise ValueError(f"{num_heads} heads, {num_kv_heads} key/value heads")
        if head_dim is None and d_model % num_heads:
            raise ValueError(f"{d_model} features, {num_heads} heads")
        self.head_dim = head_dim if head_dim is not None else d_model // num_heads
        self.groups = num_heads // num_kv_heads
        self.scaling = (d_model / num_heads) ** -0.5
        self.q_proj = nn.Linear(d_model, num_heads * self.head_dim, bias=False)
        self.k_proj = nn.Linear(d_model, num_kv_heads * self.head_dim, bias=False)
        self.v_proj = nn.Linear(d_model, num_kv_heads * self.head_dim, bias=False)
        self.o_proj = nn.Linear(num_heads * self.head_dim, d_model, bias=False)
        self.q_norm = nn.RMSNorm(self.head_dim, eps=eps)
        self.k_norm = nn.RMSNorm(self.head_dim, eps=eps)

    def forward(self, x, mask=None):
        split = (*x.shape[:-1], -1, self.head_dim)
        q = self.q_norm(self.q_proj(x).view(split)).transpose(1, 2)
        k = self.k_norm(self.k_proj(x).view(split)).transpose(1, 2)
        v = self.v_proj(x).view(split).transpose(1, 2)
        k, v = repeat_kv(k, self.groups), repeat_kv(v, self.groups)
        scores = torch.matmul(q, k.transpose(2, 3)) * self.scaling  # first wrong
        if mask is not None:
            scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
        weights = nn.functional.softmax(scores, dim=-1, dtype=torch.float32).to(q.dtype)
        return self.o_proj(torch.matmul(weights, v).transpose(1, 2).reshape(*x.shape[:-1], -1))
