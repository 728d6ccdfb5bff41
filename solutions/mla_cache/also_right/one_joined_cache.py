"""Join latent and rotary key into one tensor for the work, as DeepSeek's fused layer makes them.

The layers of the task stay apart, but their outputs are joined, so one cat serves the cache, and
the absorbed form reads keys and values from the same tensor. The two parts of the returned cache
are copied out of the joined tensor, which costs a pass over the whole cache in each step.
"""

import torch
from torch import nn


class CachedMultiHeadLatentAttention(nn.Module):
    def __init__(self, d_model, num_heads, q_rank, kv_rank, nope_dim, rope_dim, v_dim, rope_base=10000.0):
        super().__init__()
        self.num_heads, self.nope_dim, self.rope_dim, self.v_dim = num_heads, nope_dim, rope_dim, v_dim
        self.kv_rank, self.rope_base = kv_rank, rope_base
        self.q_down = nn.Linear(d_model, q_rank, bias=False)
        self.q_up = nn.Linear(q_rank, num_heads * nope_dim, bias=False)
        self.q_rope = nn.Linear(q_rank, num_heads * rope_dim, bias=False)
        self.kv_down = nn.Linear(d_model, kv_rank, bias=False)
        self.k_up = nn.Linear(kv_rank, num_heads * nope_dim, bias=False)
        self.v_up = nn.Linear(kv_rank, num_heads * v_dim, bias=False)
        self.k_rope = nn.Linear(d_model, rope_dim, bias=False)
        self.o_proj = nn.Linear(num_heads * v_dim, d_model, bias=False)

    def turn(self, x, cos, sin):
        swapped = torch.stack((-x[..., 1::2], x[..., 0::2]), dim=-1).flatten(-2)
        return (x * cos + swapped * sin).to(x.dtype)

    def forward(self, x, cache=None):
        batch, length, _ = x.shape
        past = None if cache is None else torch.cat(tuple(cache), dim=-1)
        start = 0 if past is None else past.shape[1]
        steps = torch.arange(start, start + length, device=x.device, dtype=torch.float32)
        pair = torch.arange(self.rope_dim, device=x.device).div(2, rounding_mode="floor")
        angles = steps[:, None] * self.rope_base ** (-2 * pair / self.rope_dim)
        cos, sin = angles.cos(), angles.sin()

        joined = torch.cat((self.kv_down(x), self.turn(self.k_rope(x), cos, sin)), dim=-1)
        if past is not None:
            joined = torch.cat((past, joined), dim=1)
        latents = joined[..., : self.kv_rank]

        c_q = self.q_down(x)
        q_nope = self.q_up(c_q).view(batch, length, self.num_heads, self.nope_dim).transpose(1, 2)
        q_rope = self.q_rope(c_q).view(batch, length, self.num_heads, self.rope_dim).transpose(1, 2)
        k_up = self.k_up.weight.view(self.num_heads, self.nope_dim, self.kv_rank)
        q = torch.cat((q_nope @ k_up, self.turn(q_rope, cos, sin)), dim=-1)  # [B, H, L, kv_rank + Dr]
        scores = q @ joined[:, None].mT / (self.nope_dim + self.rope_dim) ** 0.5
        hidden = torch.ones(length, start + length, dtype=torch.bool, device=x.device).triu(start + 1)
        weights = scores.masked_fill(hidden, -torch.inf).softmax(dim=-1)
        v_up = self.v_up.weight.view(self.num_heads, self.v_dim, self.kv_rank)
        heads = weights @ latents[:, None] @ v_up.mT  # [B, H, L, Dv]
        out = self.o_proj(heads.transpose(1, 2).reshape(batch, length, -1))
        return out, (latents.clone(), joined[..., self.kv_rank :].clone())
