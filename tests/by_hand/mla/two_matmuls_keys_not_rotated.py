# mistakes: keys-not-rotated
"""The shared key of the rotary part is never rotated."""

import math
import torch
import torch.nn as nn
import torch.nn.functional as F


class MultiHeadLatentAttention(nn.Module):
    def __init__(self, d_model, num_heads, q_rank, kv_rank, nope_dim, rope_dim, v_dim, rope_base=10000.0):
        super().__init__()
        self.num_heads, self.nope_dim, self.rope_dim, self.v_dim = num_heads, nope_dim, rope_dim, v_dim
        # query side
        self.q_down = nn.Linear(d_model, q_rank, bias=False)
        self.q_up = nn.Linear(q_rank, num_heads * nope_dim, bias=False)
        self.q_rope = nn.Linear(q_rank, num_heads * rope_dim, bias=False)
        # key / value side
        self.kv_down = nn.Linear(d_model, kv_rank, bias=False)
        self.k_up = nn.Linear(kv_rank, num_heads * nope_dim, bias=False)
        self.v_up = nn.Linear(kv_rank, num_heads * v_dim, bias=False)
        self.k_rope = nn.Linear(d_model, rope_dim, bias=False)
        self.o_proj = nn.Linear(num_heads * v_dim, d_model, bias=False)
        self.theta = [rope_base ** (-2 * i / rope_dim) for i in range(rope_dim // 2)]

    def tables(self, pos):
        theta = torch.tensor(self.theta, dtype=torch.float32, device=pos.device)
        ang = pos.float().unsqueeze(-1) * theta
        return ang.cos(), ang.sin()  # [B, L, rope_dim / 2]

    def rot(self, t, cos, sin):
        # t [B, L, heads, rope_dim]
        cos, sin = cos.unsqueeze(2), sin.unsqueeze(2)
        t0, t1 = t.float()[..., 0::2], t.float()[..., 1::2]
        r0 = t0 * cos - t1 * sin
        r1 = t1 * cos + t0 * sin
        return torch.stack((r0, r1), dim=-1).reshape(t.shape).to(t.dtype)

    def forward(self, x, mask=None, position_ids=None):
        b, n, _ = x.size()
        h = self.num_heads
        pos = torch.arange(n, device=x.device).repeat(b, 1) if position_ids is None else position_ids
        cos, sin = self.tables(pos)

        c_q = self.q_down(x)
        c_kv = self.kv_down(x)

        q_c = self.q_up(c_q).view(b, n, h, self.nope_dim)
        q_r = self.rot(self.q_rope(c_q).view(b, n, h, self.rope_dim), cos, sin)
        k_c = self.k_up(c_kv).view(b, n, h, self.nope_dim)
        k_r = self.k_rope(x).view(b, n, 1, self.rope_dim)  # first wrong
        v = self.v_up(c_kv).view(b, n, h, self.v_dim)

        content = torch.matmul(q_c.transpose(1, 2), k_c.permute(0, 2, 3, 1))
        position = torch.matmul(q_r.transpose(1, 2), k_r.permute(0, 2, 3, 1))
        scores = (content + position) / math.sqrt(self.nope_dim + self.rope_dim)
        if mask is not None:
            scores.masked_fill_(~mask, -1e9)
        attn = F.softmax(scores, dim=-1)
        ctx = torch.matmul(attn, v.transpose(1, 2))
        return self.o_proj(ctx.transpose(1, 2).contiguous().view(b, n, h * self.v_dim))
