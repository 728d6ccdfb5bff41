# mistakes: latent-detached
"""Multi-query attention over the latents with the rotary key beside them, k_up absorbed by the queries; values made last."""

import torch
from torch import nn


def pairs_turned(t, cos, sin):
    t = t.unflatten(-1, (-1, 2))
    matrix = torch.stack((torch.stack((cos, -sin), -1), torch.stack((sin, cos), -1)), -2).to(t.dtype)
    return torch.matmul(matrix, t.unsqueeze(-1)).squeeze(-1).flatten(-2)


class MultiHeadLatentAttention(nn.Module):
    def __init__(self, d_model, num_heads, q_rank, kv_rank, nope_dim, rope_dim, v_dim, rope_base=10000.0):
        super().__init__()
        self.heads, self.nope_dim, self.rope_dim, self.v_dim, self.theta = num_heads, nope_dim, rope_dim, v_dim, rope_base
        self.q_down = nn.Linear(d_model, q_rank, bias=False)
        self.q_up = nn.Linear(q_rank, num_heads * nope_dim, bias=False)
        self.q_rope = nn.Linear(q_rank, num_heads * rope_dim, bias=False)
        self.kv_down = nn.Linear(d_model, kv_rank, bias=False)
        self.k_up = nn.Linear(kv_rank, num_heads * nope_dim, bias=False)
        self.v_up = nn.Linear(kv_rank, num_heads * v_dim, bias=False)
        self.k_rope = nn.Linear(d_model, rope_dim, bias=False)
        self.o_proj = nn.Linear(num_heads * v_dim, d_model, bias=False)

    def forward(self, x, mask=None, position_ids=None):
        b, n, _ = x.shape
        h = self.heads
        if position_ids is None:
            position_ids = torch.arange(n, device=x.device)[None].repeat(b, 1)
        angles = position_ids[..., None] / self.theta ** (torch.arange(0, self.rope_dim, 2, device=x.device) / self.rope_dim)
        cos, sin = angles.cos(), angles.sin()

        # what goes into the cache
        latent = self.kv_down(x).detach()  # first wrong
        place = pairs_turned(self.k_rope(x), cos, sin)
        cache = torch.cat((latent, place), dim=-1)  # [b, n, kv_rank + rope_dim]

        compressed = self.q_down(x)
        q = self.q_up(compressed).view(b, n, h, 1, self.nope_dim) @ self.k_up.weight.view(h, self.nope_dim, -1)
        q_place = pairs_turned(self.q_rope(compressed).view(b, n, h, self.rope_dim), cos[:, :, None], sin[:, :, None])
        q = torch.cat((q.squeeze(3), q_place), dim=-1).transpose(1, 2)  # [b, h, n, kv_rank + rope_dim]

        scores = q @ cache[:, None].mT / (self.nope_dim + self.rope_dim) ** 0.5
        if mask is not None:
            scores = scores + torch.zeros(mask.shape, dtype=scores.dtype).masked_fill(~mask, -torch.inf)
        weights = scores.float().softmax(-1).type_as(x) if x.dtype == torch.bfloat16 else scores.softmax(-1)
        seen = weights @ latent[:, None]  # [b, h, n, kv_rank]
        values = seen @ self.v_up.weight.view(h, self.v_dim, -1).mT
        return self.o_proj(values.transpose(1, 2).reshape(b, n, -1))
