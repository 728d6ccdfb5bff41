# mistakes: mean-subtracted
"""Grouped einsum over five axes; the norm of the learner is a layer normalisation without a bias."""

import torch
from torch import einsum, nn


class Norm(nn.Module):
    def __init__(self, n, eps):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(n)), eps

    def forward(self, t):
        centred = t - t.mean(-1, keepdim=True)  # first wrong
        return centred / torch.sqrt(centred.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight


class QKNormAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, head_dim=None, eps=1e-6):
        super().__init__()
        if head_dim is None and d_model % num_heads == 0:
            head_dim = d_model // num_heads
        if num_heads % num_kv_heads or head_dim is None:
            raise ValueError(f"{d_model} / {num_heads} / {num_kv_heads}")
        self.kv, self.fold, self.size = num_kv_heads, num_heads // num_kv_heads, head_dim
        self.wq = nn.Linear(d_model, num_heads * self.size, bias=False)
        self.wk = nn.Linear(d_model, self.kv * self.size, bias=False)
        self.wv = nn.Linear(d_model, self.kv * self.size, bias=False)
        self.wo = nn.Linear(num_heads * self.size, d_model, bias=False)
        self.q_norm, self.k_norm = Norm(self.size, eps), Norm(self.size, eps)

    def forward(self, x, mask=None):
        b, n, _ = x.shape
        q = self.q_norm(self.wq(x).view(b, n, self.kv, self.fold, self.size))
        k = self.k_norm(self.wk(x).view(b, n, self.kv, self.size))
        v = self.wv(x).view(b, n, self.kv, self.size)
        e = einsum("nigfd,njgd->ngfij", q, k) / self.size**0.5
        if mask is not None:
            e = e.masked_fill(~mask.expand(b, self.kv * self.fold, n, n).reshape(e.shape), float("-inf"))
        return self.wo(einsum("ngfij,njgd->nigfd", e.softmax(-1), v).reshape(b, n, -1))
