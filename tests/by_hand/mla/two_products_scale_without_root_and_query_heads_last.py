# mistakes: scale-without-root, query-heads-last
"""Heads first throughout, scores as the sum of two products, softmax through logsumexp."""

import torch
from torch import nn


class MultiHeadLatentAttention(nn.Module):
    def __init__(self, d_model, num_heads, q_rank, kv_rank, nope_dim, rope_dim, v_dim, rope_base=10000.0):
        super().__init__()
        self.nheads = num_heads
        self.qk = nope_dim + rope_dim
        self.base = rope_base
        self.q_down = nn.Linear(d_model, q_rank, bias=False)
        self.kv_down = nn.Linear(d_model, kv_rank, bias=False)
        self.q_up = nn.Linear(q_rank, num_heads * nope_dim, bias=False)
        self.k_up = nn.Linear(kv_rank, num_heads * nope_dim, bias=False)
        self.v_up = nn.Linear(kv_rank, num_heads * v_dim, bias=False)
        self.q_rope = nn.Linear(q_rank, num_heads * rope_dim, bias=False)
        self.k_rope = nn.Linear(d_model, rope_dim, bias=False)
        self.o_proj = nn.Linear(num_heads * v_dim, d_model, bias=False)

    def forward(self, x, mask=None, position_ids=None):
        B, L, _ = x.shape
        H = self.nheads
        if position_ids is None:
            position_ids = torch.arange(L, device=x.device).expand(B, L)

        latent_q = self.q_down(x)
        latent_kv = self.kv_down(x)
        q = self.q_up(latent_q).view(B, L, -1, H)  # first wrong
        q = q.permute(3, 0, 1, 2)  # [H, B, L, Dn]
        k = self.k_up(latent_kv).view(B, L, H, -1)
        k = k.permute(2, 0, 1, 3)
        v = self.v_up(latent_kv).view(B, L, H, -1)
        v = v.permute(2, 0, 1, 3)
        qr = self.q_rope(latent_q).view(B, L, H, -1)
        qr = qr.permute(2, 0, 1, 3)
        kr = self.k_rope(x)

        dr = kr.shape[-1]
        i = torch.arange(dr, device=x.device) // 2  # 0 0 1 1 2 2 ...
        angle = position_ids[:, :, None] * self.base ** (-2.0 * i / dr)
        cos = angle.cos().to(x.dtype)
        sin = angle.sin().to(x.dtype)
        sin = torch.where(torch.arange(dr) % 2 == 0, -sin, sin)
        partner = torch.arange(dr) ^ 1  # 1 0 3 2 5 4 ...
        qr = qr * cos + qr[..., partner] * sin
        kr = kr * cos + kr[..., partner] * sin

        s = q @ k.transpose(-1, -2)
        s = s + qr @ kr.transpose(-1, -2)
        s = s / self.qk  # also wrong
        if mask is not None:
            hidden = ~mask.expand(B, H, L, L).transpose(0, 1)
            s = s.masked_fill(hidden, -torch.inf)
        p = torch.exp(s - torch.logsumexp(s, dim=-1, keepdim=True))
        o = p @ v  # [H, B, L, Dv]
        o = o.permute(1, 2, 0, 3)
        return self.o_proj(o.reshape(B, L, -1))
