# mistakes: positions-clamped
"""Small modules inside the module: a rotary embedding, a low-rank pair for the queries, one for keys and values."""

import math

import torch
import torch.nn as nn

CONTEXT = 512


class Rotary(nn.Module):
    def __init__(self, dim, base):
        super().__init__()
        self.dim = dim
        self.base = base

    def angles(self, positions):
        positions = positions.clamp(0, CONTEXT - 1)  # first wrong
        steps = torch.arange(self.dim // 2, device=positions.device)
        speeds = torch.pow(self.base, -2 * steps / self.dim)
        return positions.unsqueeze(-1) * speeds

    def forward(self, heads, positions):
        """heads [B, L, h, dim], positions [B, L]"""
        theta = self.angles(positions).unsqueeze(2)
        first = heads[..., ::2]
        second = heads[..., 1::2]
        turned_first = first * theta.cos() - second * theta.sin()
        turned_second = second * theta.cos() + first * theta.sin()
        return torch.stack((turned_first, turned_second), dim=-1).reshape(heads.shape).to(heads.dtype)


class LowRank(nn.Module):
    """One linear map down, two up."""

    def __init__(self, wide, rank, first, second):
        super().__init__()
        self.down = nn.Linear(wide, rank, bias=False)
        self.first = nn.Linear(rank, first, bias=False)
        self.second = nn.Linear(rank, second, bias=False)

    def forward(self, x):
        latent = self.down(x)
        return self.first(latent), self.second(latent)


class MultiHeadLatentAttention(nn.Module):
    def __init__(self, d_model, num_heads, q_rank, kv_rank, nope_dim, rope_dim, v_dim, rope_base=10000.0):
        super().__init__()
        self.num_heads = num_heads
        self.width = nope_dim + rope_dim
        self.queries = LowRank(d_model, q_rank, num_heads * nope_dim, num_heads * rope_dim)
        self.keys_values = LowRank(d_model, kv_rank, num_heads * nope_dim, num_heads * v_dim)
        self.rotary_key = nn.Linear(d_model, rope_dim, bias=False)
        self.out = nn.Linear(num_heads * v_dim, d_model, bias=False)
        self.rotary = Rotary(rope_dim, rope_base)

    def forward(self, x, mask=None, position_ids=None):
        if position_ids is None:
            position_ids = torch.arange(x.shape[1], device=x.device).expand(x.shape[:2])
        split = (self.num_heads, -1)
        content_q, place_q = (part.unflatten(-1, split) for part in self.queries(x))
        content_k, v = (part.unflatten(-1, split) for part in self.keys_values(x))
        place_q = self.rotary(place_q, position_ids)
        place_k = self.rotary(self.rotary_key(x).unsqueeze(2), position_ids)
        q = torch.cat((content_q, place_q), dim=-1).transpose(1, 2)
        k = torch.cat((content_k, place_k.expand(-1, -1, self.num_heads, -1)), dim=-1).transpose(1, 2)
        scores = q.matmul(k.transpose(-1, -2)).div(math.sqrt(self.width))
        if mask is not None:
            scores = scores.masked_fill(mask == 0, float("-inf"))
        mixed = scores.softmax(dim=-1).matmul(v.transpose(1, 2))
        return self.out(mixed.transpose(1, 2).flatten(start_dim=2))
