"""Plain right implementations of attention, for tests that patch their lines into mistakes."""

ATTENTION = """
import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, dropout=0.0, bias=True):
        super().__init__()
        self.H, self.D, self.p = num_heads, d_model // num_heads, dropout
        self.groups = num_kv_heads
        self.q_proj = nn.Linear(d_model, d_model, bias=bias)
        self.k_proj = nn.Linear(d_model, num_kv_heads * self.D, bias=bias)
        self.v_proj = nn.Linear(d_model, num_kv_heads * self.D, bias=bias)
        self.o_proj = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(self.p)

    def forward(self, x, mask=None):
        B, L, M = x.shape
        H, D = self.H, self.D
        q = self.q_proj(x).view(B, L, H, D).transpose(1, 2)
        k = self.k_proj(x).view(B, L, -1, D).transpose(1, 2)
        v = self.v_proj(x).view(B, L, -1, D).transpose(1, 2)
        k = k.repeat_interleave(H // self.groups, dim=1)
        v = v.repeat_interleave(H // self.groups, dim=1)
        scores = q @ k.transpose(-2, -1) / D**0.5
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        weights = self.dropout(weights)
        heads = (weights @ v).transpose(1, 2).reshape(B, L, M)
        return self.o_proj(heads)
"""

SEPARATE = """
import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.H, self.D = num_heads, d_model // num_heads
        for name in ("q_proj", "k_proj", "v_proj", "o_proj"):
            setattr(self, name, nn.Linear(d_model, d_model))

    def forward(self, query, key, value, mask=None):
        q, k, v = self.q_proj(query), self.k_proj(key), self.v_proj(value)
        q, k, v = (part.unflatten(-1, (self.H, self.D)).transpose(1, 2) for part in (q, k, v))
        scores = q @ k.transpose(-2, -1) / self.D**0.5
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        heads = torch.softmax(scores, dim=-1) @ v
        return self.o_proj(heads.transpose(1, 2).flatten(2))
"""

CACHED = """
import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, bias=False):
        super().__init__()
        self.H, self.D, self.groups = num_heads, d_model // num_heads, num_kv_heads
        self.q_proj = nn.Linear(d_model, d_model, bias=bias)
        self.k_proj = nn.Linear(d_model, num_kv_heads * self.D, bias=bias)
        self.v_proj = nn.Linear(d_model, num_kv_heads * self.D, bias=bias)
        self.o_proj = nn.Linear(d_model, d_model, bias=bias)

    def forward(self, x, past_kv=None, use_cache=False):
        B, L, M = x.shape
        q = self.q_proj(x).view(B, L, self.H, self.D).transpose(1, 2)
        k = self.k_proj(x).view(B, L, -1, self.D).transpose(1, 2)
        v = self.v_proj(x).view(B, L, -1, self.D).transpose(1, 2)
        start = 0 if past_kv is None else past_kv[0].shape[2]
        if past_kv is not None:
            k, v = (torch.cat(pair, dim=2) for pair in zip(past_kv, (k, v)))
        cache = (k, v)
        k, v = (part.repeat_interleave(self.H // self.groups, dim=1) for part in cache)
        scores = q @ k.transpose(-2, -1) / self.D**0.5
        seen = torch.arange(k.shape[2]) <= torch.arange(L)[:, None] + start
        scores = scores.masked_fill(~seen, -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        out = self.o_proj((weights @ v).transpose(1, 2).reshape(B, L, M))
        return (out, cache) if use_cache else out
"""

ROTARY = """
import torch
from torch import nn


def rotated(x, angles):
    a, b = x.chunk(2, dim=-1)
    cos, sin = angles.cos(), angles.sin()
    return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1).to(x.dtype)


class Attention(nn.Module):
    def __init__(self, d_model, num_heads, max_seq_len=2048, rope_base=10000.0):
        super().__init__()
        self.H, self.D, self.T, self.base = num_heads, d_model // num_heads, max_seq_len, rope_base
        for name in ("q_proj", "k_proj", "v_proj", "o_proj"):
            setattr(self, name, nn.Linear(d_model, d_model))

    def forward(self, x, mask=None, position_ids=None):
        B, L, M = x.shape
        H, T = self.H, self.T
        given = position_ids is not None
        places = position_ids if given else torch.arange(L)[None]
        q, k, v = self.q_proj(x), self.k_proj(x), self.v_proj(x)
        q, k, v = (part.view(B, L, H, self.D).transpose(1, 2) for part in (q, k, v))
        frequencies = self.base ** -(torch.arange(0, self.D, 2).double() / self.D)
        angles = places[..., None] * frequencies
        angles = angles[:, None]
        q, k = rotated(q, angles), rotated(k, angles)
        scores = q @ k.transpose(-2, -1) / self.D**0.5
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        heads = torch.softmax(scores, dim=-1) @ v
        return self.o_proj(heads.transpose(1, 2).reshape(B, L, M))
"""
