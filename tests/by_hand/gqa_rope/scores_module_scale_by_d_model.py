# mistakes: scale-by-d-model
"""The scores are scaled by the width of the model and not by that of a head."""

import torch
from torch import nn


class RotaryEmbedding(nn.Module):
    def __init__(self, dim, max_len, base):
        super().__init__()
        self.dim, self.max_len, self.base = dim, max_len, base

    def forward(self, t, pos):
        # t [B, L, heads, D]
        freq = torch.pow(self.base, -torch.arange(0, self.dim, 2, device=t.device).float() / self.dim)
        phi = (pos.float()[..., None] * freq)[:, :, None, :]
        lo, hi = t.float().tensor_split(2, dim=-1)
        turned = (lo * phi.cos() - hi * phi.sin(), hi * phi.cos() + lo * phi.sin())
        return torch.cat(turned, dim=-1).to(t.dtype)


class GroupedScores(nn.Module):
    """q [B, L, Hkv, G, D], k and v [B, L, Hkv, D]"""

    def __init__(self, scale):
        super().__init__()
        self.scale = scale

    def forward(self, q, k, v, mask):
        s = torch.einsum("bqngd,bknd->bngqk", q, k) * self.scale
        s = s.flatten(1, 2)
        if mask is not None:
            s = s.masked_fill(~mask, float("-inf"))
        p = s.softmax(-1).unflatten(1, q.shape[2:4])
        return torch.einsum("bngqk,bknd->bqngd", p, v)


class LlamaAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, max_seq_len=2048, rope_base=10000.0):
        super().__init__()
        if d_model % num_heads:
            raise ValueError("d_model % num_heads")
        if num_heads % num_kv_heads:
            raise ValueError("num_heads % num_kv_heads")
        self.heads, self.kv_heads = num_heads, num_kv_heads
        self.dim = d_model // num_heads
        self.q_proj = nn.Linear(d_model, d_model, bias=False)
        self.k_proj = nn.Linear(d_model, num_kv_heads * self.dim, bias=False)
        self.v_proj = nn.Linear(d_model, num_kv_heads * self.dim, bias=False)
        self.o_proj = nn.Linear(d_model, d_model, bias=False)
        self.rotary = RotaryEmbedding(self.dim, max_seq_len, rope_base)
        self.attend = GroupedScores(scale=d_model**-0.5)  # first wrong

    def forward(self, x, mask=None, position_ids=None):
        B, L, M = x.shape
        pos = torch.arange(L, device=x.device)[None] if position_ids is None else position_ids
        q = self.rotary(self.q_proj(x).view(B, L, self.heads, self.dim), pos)
        k = self.rotary(self.k_proj(x).view(B, L, self.kv_heads, self.dim), pos)
        v = self.v_proj(x).view(B, L, self.kv_heads, self.dim)
        q = q.view(B, L, self.kv_heads, self.heads // self.kv_heads, self.dim)
        return self.o_proj(self.attend(q, k, v, mask).reshape(B, L, M))
