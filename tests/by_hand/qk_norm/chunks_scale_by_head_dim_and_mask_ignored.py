# mistakes: scale-by-head-dim, mask-ignored
"""Cosines in mind: the normalised queries are divided by D, and the masked scores are thrown away."""

import torch
from torch import nn


class QKNormAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, head_dim=None, eps=1e-6):
        super().__init__()
        assert (head_dim or d_model % num_heads == 0) and num_heads % num_kv_heads == 0
        self.n, self.kv = num_heads, num_kv_heads
        d = head_dim or d_model // num_heads
        self.w_q, self.w_o = nn.Linear(d_model, d * self.n, bias=False), nn.Linear(d * self.n, d_model, bias=False)
        self.w_k, self.w_v = nn.Linear(d_model, d * self.kv, bias=False), nn.Linear(d_model, d * self.kv, bias=False)
        self.q_norm, self.k_norm = nn.RMSNorm(d, eps=eps), nn.RMSNorm(d, eps=eps)

    def forward(self, x, mask=None):
        q = torch.stack(self.w_q(x).chunk(self.n, -1), 1)
        k = torch.stack(self.w_k(x).chunk(self.kv, -1), 1)
        v = torch.stack(self.w_v(x).chunk(self.kv, -1), 1)
        q, k = self.q_norm(q), self.k_norm(k)
        expand = lambda t: t.unsqueeze(2).expand(-1, -1, self.n // self.kv, -1, -1).flatten(1, 2)
        k, v = expand(k), expand(v)
        s = q @ k.transpose(2, 3)
        s = s / q.shape[-1]  # first wrong
        if mask is not None:
            s.masked_fill(~mask, float("-inf"))
        p = s.softmax(-1)  # also wrong
        heads = p @ v
        return self.w_o(heads.transpose(1, 2).flatten(2))
