"""Multiply k_up into the queries and v_up into the output, so that attention runs over the latents.

No keys and values of single heads are made, so a decode step reads only latents and rotary keys.
Each score takes kv_rank + Dr products instead of Dn + Dr, which costs more FLOPs on a long input
if kv_rank is larger than Dn.
"""

import torch
from torch import nn


class MultiHeadLatentAttention(nn.Module):
    def __init__(self, d_model, num_heads, q_rank, kv_rank, nope_dim, rope_dim, v_dim, rope_base=10000.0):
        super().__init__()
        self.n_heads, self.nope, self.rope, self.vd = num_heads, nope_dim, rope_dim, v_dim
        self.q_down = nn.Linear(d_model, q_rank, bias=False)
        self.q_up = nn.Linear(q_rank, num_heads * nope_dim, bias=False)
        self.q_rope = nn.Linear(q_rank, num_heads * rope_dim, bias=False)
        self.kv_down = nn.Linear(d_model, kv_rank, bias=False)
        self.k_up = nn.Linear(kv_rank, num_heads * nope_dim, bias=False)
        self.v_up = nn.Linear(kv_rank, num_heads * v_dim, bias=False)
        self.k_rope = nn.Linear(d_model, rope_dim, bias=False)
        self.o_proj = nn.Linear(num_heads * v_dim, d_model, bias=False)
        self.theta = [rope_base ** (-2 * i / rope_dim) for i in range(rope_dim // 2)]

    def turn(self, t, positions):  # t [B, h, L, rope]
        angle = positions[:, None, :, None].double() * torch.tensor(self.theta, dtype=torch.float64)
        points = torch.view_as_complex(t.double().reshape(*t.shape[:-1], -1, 2).contiguous())
        return torch.view_as_real(points * torch.polar(torch.ones_like(angle), angle)).flatten(3).to(t.dtype)

    def forward(self, x, mask=None, position_ids=None):
        b, n, _ = x.shape
        positions = torch.arange(n).expand(b, n) if position_ids is None else position_ids
        latent, query = self.kv_down(x), self.q_down(x)
        q_nope = self.q_up(query).unflatten(-1, (self.n_heads, self.nope))
        q_rope = self.turn(self.q_rope(query).unflatten(-1, (self.n_heads, self.rope)).transpose(1, 2), positions)
        k_rope = self.turn(self.k_rope(x).unsqueeze(1), positions)
        w_uk = self.k_up.weight.view(self.n_heads, self.nope, -1)
        w_uv = self.v_up.weight.view(self.n_heads, self.vd, -1)
        absorbed = torch.einsum("blhn,hnr->bhlr", q_nope, w_uk)
        scores = (torch.einsum("bhlr,bkr->bhlk", absorbed, latent) + q_rope @ k_rope.mT) * (self.nope + self.rope) ** -0.5
        if mask is not None:
            scores = torch.where(mask, scores, -1e9)
        weights = scores.float().softmax(-1).to(x.dtype)
        return self.o_proj(torch.einsum("bhlk,bkr,hvr->blhv", weights, latent, w_uv).flatten(2))
