# mistakes: eps-outside-the-root
"""Helper functions for the rotation; the norm divides by the norm of the vector."""

import torch
from torch import nn
from torch.nn.functional import silu, softmax


def tables(rows, dim, base):
    steps = torch.arange(rows, dtype=torch.float32)
    rates = base ** (torch.arange(0, dim, 2, dtype=torch.float32) / -dim)
    return torch.outer(steps, rates)


def rotate(t, angles):
    left, right = t.tensor_split(2, -1)
    c, s = torch.cos(angles).to(t.dtype), torch.sin(angles).to(t.dtype)
    return torch.cat([left * c - right * s, right * c + left * s], dim=-1)


class RootMeanSquare(nn.Module):
    def __init__(self, size, eps):
        super().__init__()
        self.eps, self.size = eps, size
        self.weight = nn.Parameter(torch.ones(size))

    def forward(self, t):
        rms = torch.linalg.vector_norm(t, dim=-1, keepdim=True) / self.size**0.5
        return t / (rms + self.eps) * self.weight  # first wrong


class Attention(nn.Module):
    def __init__(self, size, heads, groups, dim, rows, base):
        super().__init__()
        if dim is None:
            if size % heads:
                raise ValueError(f"{heads} heads for {size}")
            dim = size // heads
        if heads % groups:
            raise ValueError(f"{groups} groups for {heads}")
        self.shape = (heads, dim)
        self.kv_shape = (groups, dim)
        self.query = nn.Linear(size, heads * dim, bias=False)
        self.key = nn.Linear(size, groups * dim, bias=False)
        self.value = nn.Linear(size, groups * dim, bias=False)
        self.dense = nn.Linear(heads * dim, size, bias=False)
        self.angles = tables(rows, dim, base)

    def forward(self, t, places):
        length = t.shape[1]
        angles = self.angles[:length] if places is None else self.angles[places].unsqueeze(1)
        q = rotate(self.query(t).unflatten(2, self.shape).transpose(1, 2), angles)
        k = rotate(self.key(t).unflatten(2, self.kv_shape).transpose(1, 2), angles)
        v = self.value(t).unflatten(2, self.kv_shape).transpose(1, 2)
        owner = torch.arange(self.shape[0]) // (self.shape[0] // self.kv_shape[0])
        s = torch.matmul(q, k[:, owner].transpose(2, 3)) / self.shape[1] ** 0.5
        s = s + torch.full((length, length), float("-inf"), dtype=s.dtype).triu(1)
        return self.dense(torch.matmul(softmax(s, dim=-1), v[:, owner]).transpose(1, 2).flatten(2))


class Gated(nn.Module):
    def __init__(self, size, hidden):
        super().__init__()
        self.w1, self.w3 = nn.Linear(size, hidden, bias=False), nn.Linear(size, hidden, bias=False)
        self.w2 = nn.Linear(hidden, size, bias=False)

    def forward(self, t):
        return self.w2(silu(self.w1(t)) * self.w3(t))


class LlamaBlock(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, hidden_dim, head_dim=None, max_seq_len=2048, rope_base=10000.0, eps=1e-6):
        super().__init__()
        self.input_norm = RootMeanSquare(d_model, eps)
        self.attn = Attention(d_model, num_heads, num_kv_heads, head_dim, max_seq_len, rope_base)
        self.post_norm = RootMeanSquare(d_model, eps)
        self.mlp = Gated(d_model, hidden_dim)

    def forward(self, x, position_ids=None):
        h = x + self.attn(self.input_norm(x), position_ids)
        return h + self.mlp(self.post_norm(h))
