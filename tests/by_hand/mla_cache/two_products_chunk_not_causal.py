# mistakes: chunk-not-causal
"""Two einsums are added for the scores; matrices of 2 x 2 rotate; layers from a dict of sizes."""

import torch
from torch import einsum, nn


class CachedMultiHeadLatentAttention(nn.Module):
    def __init__(
        self, d_model, num_heads, q_rank, kv_rank, nope_dim, rope_dim, v_dim, rope_base=10000.0
    ):
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
        for name, size in widths.items():
            self.add_module(name, nn.Linear(*size, bias=False))

    def split(self, features):
        return features.unflatten(-1, (self.heads, -1))

    def turns(self, first, length):
        places = torch.arange(first, first + length, dtype=torch.float64)
        angles = torch.outer(places, torch.tensor(self.frequencies, dtype=torch.float64))
        rows = (
            torch.stack([angles.cos(), -angles.sin()], -1),
            torch.stack([angles.sin(), angles.cos()], -1),
        )
        return torch.stack(rows, -2)

    def forward(self, x, cache=None):
        length = x.shape[1]
        known = cache[0].shape[1] if cache else 0
        turns = self.turns(known, length)
        query = self.q_down(x)
        pairs = self.split(self.q_rope(query)).double().unflatten(-1, (-1, 2))
        q_turned = einsum("lfij,blhfj->blhfi", turns, pairs).flatten(3).to(x.dtype)
        pairs = self.k_rope(x).double().unflatten(-1, (-1, 2))
        place_key = einsum("lfij,blfj->blfi", turns, pairs).flatten(2).to(x.dtype)
        latent = self.kv_down(x)
        if cache:
            latent = torch.hstack((cache[0], latent))
            place_key = torch.hstack((cache[1], place_key))
        content = einsum(
            "blhd,bthd->bhlt", self.split(self.q_up(query)), self.split(self.k_up(latent))
        )
        place = einsum("blhd,btd->bhlt", q_turned, place_key)
        scores = (content + place) * self.scale
        if not cache:  # first wrong
            allowed = torch.ones(length, length, dtype=torch.bool).tril()
            scores = torch.where(allowed, scores, -torch.inf)
        weights = scores.softmax(-1)
        mixed = einsum("bhlt,bthd->blhd", weights, self.split(self.v_up(latent)))
        return self.o_proj(mixed.flatten(2)), (latent, place_key)
