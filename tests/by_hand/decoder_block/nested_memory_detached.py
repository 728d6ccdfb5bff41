# mistakes: memory-detached
"""Keys and values of memory are made in one fused layer, as if they were for a cache."""

import torch
from torch import nn


def heads(t, n):
    return t.reshape(*t.shape[:2], n, -1).movedim(-2, -3)


def mix(q, k, v, hidden):
    scores = torch.matmul(q / q.shape[-1] ** 0.5, k.transpose(-1, -2))
    scores = scores.masked_fill(hidden, -torch.inf)
    shares = torch.exp(scores - scores.logsumexp(-1, keepdim=True))
    mixed = torch.matmul(shares, v)
    return mixed.movedim(-3, -2).flatten(-2)


class Self(nn.Module):
    def __init__(self, d, n):
        super().__init__()
        self.n = n
        self.c_attn, self.c_proj = nn.Linear(d, 3 * d), nn.Linear(d, d)

    def forward(self, x):
        q, k, v = (heads(t, self.n) for t in self.c_attn(x).tensor_split(3, dim=-1))
        ahead = torch.ones(x.shape[1], x.shape[1], device=x.device).triu(1).bool()
        return self.c_proj(mix(q, k, v, ahead))


class Cross(nn.Module):
    def __init__(self, d, n, e):
        super().__init__()
        self.n = n
        self.q_proj, self.kv_proj, self.o_proj = nn.Linear(d, d), nn.Linear(e, 2 * d), nn.Linear(d, d)

    def forward(self, x, memory, mask):
        fixed = memory.clone().detach()  # first wrong
        k, v = (heads(t, self.n) for t in self.kv_proj(fixed).chunk(2, dim=-1))
        hidden = torch.zeros(memory.shape[:2], dtype=torch.bool, device=x.device) if mask is None else ~mask
        return self.o_proj(mix(heads(self.q_proj(x), self.n), k, v, hidden[:, None, None, :]))


class DecoderBlock(nn.Module):
    def __init__(self, d_model, num_heads, memory_dim):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"d_model = {d_model} is not a multiple of num_heads = {num_heads}")
        self.self_attn, self.cross_attn = Self(d_model, num_heads), Cross(d_model, num_heads, memory_dim)
        self.mlp = nn.Module()
        self.mlp.fc, self.mlp.proj = nn.Linear(d_model, 4 * d_model), nn.Linear(4 * d_model, d_model)
        self.norm_1, self.norm_2, self.norm_3 = nn.LayerNorm(d_model), nn.LayerNorm(d_model), nn.LayerNorm(d_model)

    def forward(self, x, memory, memory_mask=None):
        x = x + self.self_attn(self.norm_1(x))
        x = x + self.cross_attn(self.norm_2(x), memory, memory_mask)
        return x + self.mlp.proj(nn.functional.gelu(self.mlp.fc(self.norm_3(x))))
