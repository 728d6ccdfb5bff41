# mistakes: base-ignored, mask-inverted
"""A rotary class that makes its tables for the call, heads split by rearranging once, an added mask of -inf."""

import torch
import torch.nn.functional as F
from torch import nn


class RotaryTables:
    def __init__(self, dim: int):
        self.rates = torch.tensor([10000.0 ** (-2 * i / dim) for i in range(dim // 2)], dtype=torch.float64)  # first wrong

    def at(self, positions):
        angles = torch.einsum("bl,f->blf", positions.double(), self.rates)
        self.cos, self.sin = (table.repeat_interleave(2, -1).unsqueeze(1) for table in (angles.cos(), angles.sin()))
        return self

    def __matmul__(self, t):
        """Rotates t [B, h, L, dim]."""
        other = torch.stack((t[..., 1::2].neg(), t[..., ::2]), -1).flatten(-2)
        return t * self.cos.to(t.dtype) + other * self.sin.to(t.dtype)


class MultiHeadLatentAttention(nn.Module):
    def __init__(self, d_model, num_heads, q_rank, kv_rank, nope_dim, rope_dim, v_dim, rope_base=10000.0):
        super().__init__()
        self.num_heads = num_heads
        self.per_head = nope_dim + rope_dim
        self.rope_dim, self.rope_base = rope_dim, rope_base
        self.w_dq = nn.Linear(d_model, q_rank, bias=False)
        self.w_uq = nn.Linear(q_rank, num_heads * nope_dim, bias=False)
        self.w_qr = nn.Linear(q_rank, num_heads * rope_dim, bias=False)
        self.w_dkv = nn.Linear(d_model, kv_rank, bias=False)
        self.w_uk = nn.Linear(kv_rank, num_heads * nope_dim, bias=False)
        self.w_uv = nn.Linear(kv_rank, num_heads * v_dim, bias=False)
        self.w_kr = nn.Linear(d_model, rope_dim, bias=False)
        self.w_o = nn.Linear(num_heads * v_dim, d_model, bias=False)

    def forward(self, x, mask=None, position_ids=None):
        batch, length = x.shape[0], x.shape[1]
        if position_ids is None:
            position_ids = torch.arange(length, device=x.device).view(1, length)
        rotary = RotaryTables(self.rope_dim).at(position_ids)
        split = lambda t: t.view(batch, length, self.num_heads, -1).movedim(2, 1)  # noqa: E731
        c_q, c_kv = self.w_dq(x), self.w_dkv(x)
        q_c, k_c, v = split(self.w_uq(c_q)), split(self.w_uk(c_kv)), split(self.w_uv(c_kv))
        q_r = rotary @ split(self.w_qr(c_q))
        k_r = rotary @ self.w_kr(x).unsqueeze(1)
        q = torch.cat([q_c, q_r], dim=-1) * self.per_head**-0.5
        k = torch.cat([k_c, k_r.expand(batch, self.num_heads, length, -1)], dim=-1)
        energy = torch.einsum("bhqd,bhkd->bhqk", q, k)
        if mask is not None:
            bias = torch.zeros(mask.shape, dtype=energy.dtype, device=energy.device)
            energy = energy + bias.masked_fill(mask, float("-inf"))  # also wrong
        attention = F.softmax(energy, dim=-1)
        return self.w_o(torch.einsum("bhqk,bhkd->bqhd", attention, v).flatten(2))
