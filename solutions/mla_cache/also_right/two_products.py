"""Add the scores of the two parts, one einsum each, and rotate by matrices of 2 x 2.

No joined queries and keys are made, and the shared rotary key needs no copy for each head. Both
sums of products are in memory at once, so there are two tensors of scores for a moment.
"""

import torch
from torch import einsum, nn


class CachedMultiHeadLatentAttention(nn.Module):
    def __init__(self, d_model, num_heads, q_rank, kv_rank, nope_dim, rope_dim, v_dim, rope_base=10000.0):
        super().__init__()
        self.heads, self.scale = num_heads, (nope_dim + rope_dim) ** -0.5
        self.frequencies = [rope_base ** (-i / rope_dim) for i in range(0, rope_dim, 2)]
        widths = {
            "q_down": (d_model, q_rank),
            "q_up": (q_rank, num_heads * nope_dim),
            "q_rope": (q_rank, num_heads * rope_dim),
            "kv_down": (d_model, kv_rank),
            "k_up": (kv_rank, num_heads * nope_dim),
            "v_up": (kv_rank, num_heads * v_dim),
            "k_rope": (d_model, rope_dim),
            "o_proj": (num_heads * v_dim, d_model),
        }
        for name, (wide, narrow) in widths.items():
            setattr(self, name, nn.Linear(wide, narrow, bias=False))

    def split(self, features):
        return features.unflatten(-1, (self.heads, -1))  # [B, T, H, width]

    def forward(self, x, cache=None):
        known = cache[0].shape[1] if cache else 0
        new = known + torch.arange(x.shape[1], device=x.device)
        angles = torch.outer(new.double(), torch.tensor(self.frequencies, dtype=torch.float64))
        cos, sin = angles.cos(), angles.sin()
        turns = torch.stack([torch.stack([cos, -sin], -1), torch.stack([sin, cos], -1)], -2)  # [L, Dr/2, 2, 2]

        query = self.q_down(x)
        pairs = self.split(self.q_rope(query)).double().unflatten(-1, (-1, 2))
        q_turned = einsum("lfij,blhfj->blhfi", turns, pairs).flatten(3).to(x.dtype)
        pairs = self.k_rope(x).double().unflatten(-1, (-1, 2))
        k_turned = einsum("lfij,blfj->blfi", turns, pairs).flatten(2).to(x.dtype)

        latent = self.kv_down(x)
        if cache:
            latent = torch.hstack((cache[0], latent))
            k_turned = torch.hstack((cache[1], k_turned))
        content = einsum("blhd,bthd->bhlt", self.split(self.q_up(query)), self.split(self.k_up(latent)))
        place = einsum("blhd,btd->bhlt", q_turned, k_turned)
        allowed = torch.arange(latent.shape[1], device=x.device) <= new[:, None]
        scores = torch.where(allowed, (content + place) * self.scale, -1e9)
        weights = scores.float().softmax(-1).to(x.dtype)
        mixed = einsum("bhlt,bthd->blhd", weights, self.split(self.v_up(latent)))
        return self.o_proj(mixed.flatten(2)), (latent, k_turned)
