"""Use nn.RMSNorm, and make the group an axis of the queries, so that an einsum needs no copy of k.

The library's norm runs in few kernels. The grouped einsum needs a reshape of the queries and of the
mask, and its output has one more axis.
"""

import torch
from torch import einsum, nn


class QKNormAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, head_dim=None, eps=1e-6):
        super().__init__()
        if head_dim is None:
            assert d_model % num_heads == 0, f"{d_model} % {num_heads}"
            head_dim = d_model // num_heads
        assert num_heads % num_kv_heads == 0, f"{num_heads} % {num_kv_heads}"
        self.h, self.g, self.d = num_heads, num_kv_heads, head_dim
        self.wq = nn.Linear(d_model, self.h * self.d, bias=False)
        self.wk = nn.Linear(d_model, self.g * self.d, bias=False)
        self.wv = nn.Linear(d_model, self.g * self.d, bias=False)
        self.wo = nn.Linear(self.h * self.d, d_model, bias=False)
        self.q_norm, self.k_norm = nn.RMSNorm(self.d, eps=eps), nn.RMSNorm(self.d, eps=eps)

    def forward(self, x, mask=None):
        b, n, _ = x.shape
        q = self.q_norm(self.wq(x).reshape(b, n, self.g, self.h // self.g, self.d))
        k = self.k_norm(self.wk(x).reshape(b, n, self.g, self.d))
        v = self.wv(x).reshape(b, n, self.g, self.d)
        s = einsum("bigrd,bjgd->bgrij", q * self.d**-0.5, k)
        if mask is not None:
            full = mask.expand(b, self.h, n, n).reshape(b, self.g, self.h // self.g, n, n)
            s = torch.where(full, s, torch.finfo(s.dtype).min)
        return self.wo(einsum("bgrij,bjgd->bigrd", s.softmax(-1), v).reshape(b, n, -1))
