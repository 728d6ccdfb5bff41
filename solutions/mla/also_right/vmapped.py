"""Write the attention for one head of one sequence, and map it over heads and batch with vmap.

The function for one head needs no batch axes, and the FLOPs are those of the reference. A bias of
[B, H, L, L] is made even without a mask.
"""

import torch
from torch import nn


def turn(x, angles):
    """x [L, Dr], angles [L, Dr/2]."""
    points = x.unflatten(-1, (-1, 2))
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    quarter = torch.stack((-points[..., 1], points[..., 0]), dim=-1)
    return (points * cos[..., None] + quarter * sin[..., None]).flatten(-2)


def one_head(c_q, c_kv, rotary_key, angles, mask, w_uq, w_qr, w_uk, w_uv):
    """c_q [L, q_rank], c_kv [L, kv_rank], rotary_key [L, Dr], mask [L, L] added to the scores -> [L, Dv]."""
    q = torch.cat((c_q @ w_uq.T, turn(c_q @ w_qr.T, angles)), dim=-1)
    k = torch.cat((c_kv @ w_uk.T, rotary_key), dim=-1)
    scores = q @ k.T / q.shape[-1] ** 0.5 + mask
    return torch.softmax(scores, dim=-1) @ (c_kv @ w_uv.T)


all_heads = torch.vmap(one_head, in_dims=(None, None, None, None, 0, 0, 0, 0, 0))
all_sequences = torch.vmap(all_heads, in_dims=(0, 0, 0, 0, 0, None, None, None, None))


class MultiHeadLatentAttention(nn.Module):
    def __init__(self, d_model, num_heads, q_rank, kv_rank, nope_dim, rope_dim, v_dim, rope_base=10000.0):
        super().__init__()
        self.num_heads, self.rope_dim, self.rope_base = num_heads, rope_dim, rope_base
        self.q_down = nn.Linear(d_model, q_rank, bias=False)
        self.q_up = nn.Linear(q_rank, num_heads * nope_dim, bias=False)
        self.q_rope = nn.Linear(q_rank, num_heads * rope_dim, bias=False)
        self.kv_down = nn.Linear(d_model, kv_rank, bias=False)
        self.k_up = nn.Linear(kv_rank, num_heads * nope_dim, bias=False)
        self.v_up = nn.Linear(kv_rank, num_heads * v_dim, bias=False)
        self.k_rope = nn.Linear(d_model, rope_dim, bias=False)
        self.o_proj = nn.Linear(num_heads * v_dim, d_model, bias=False)

    def forward(self, x, mask=None, position_ids=None):
        batch, length, _ = x.shape
        if position_ids is None:
            position_ids = torch.arange(length, device=x.device).repeat(batch, 1)
        rates = self.rope_base ** (-2.0 * torch.arange(self.rope_dim // 2, device=x.device) / self.rope_dim)
        angles = position_ids[..., None] * rates  # [B, L, Dr/2]
        bias = x.new_zeros(batch, self.num_heads, length, length)
        if mask is not None:
            bias = bias.masked_fill(~mask, float("-inf"))
        weights = [layer.weight.unflatten(0, (self.num_heads, -1)) for layer in (self.q_up, self.q_rope, self.k_up, self.v_up)]
        rotary_key = torch.vmap(turn)(self.k_rope(x), angles)
        heads = all_sequences(self.q_down(x), self.kv_down(x), rotary_key, angles, bias, *weights)  # [B, H, L, Dv]
        return self.o_proj(heads.movedim(1, 2).flatten(2))
