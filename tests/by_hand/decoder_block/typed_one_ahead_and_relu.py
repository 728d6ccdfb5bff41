# mistakes: causal-mask-sees-one-ahead, relu-for-gelu
"""Type hints, small classes, and a diagonal that is off by one."""

import math

import torch
from torch import Tensor, nn


class Projector(nn.Module):
    def __init__(self, d_model: int, source_dim: int, num_heads: int) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.to_q = nn.Linear(d_model, d_model)
        self.to_k = nn.Linear(source_dim, d_model)
        self.to_v = nn.Linear(source_dim, d_model)
        self.to_out = nn.Linear(d_model, d_model)

    def split(self, t: Tensor) -> Tensor:
        return t.unflatten(-1, (self.num_heads, -1)).transpose(-2, -3)

    def forward(self, x: Tensor, source: Tensor, hidden: Tensor | None) -> Tensor:
        q, k, v = self.split(self.to_q(x)), self.split(self.to_k(source)), self.split(self.to_v(source))
        logits = torch.matmul(q, k.transpose(-1, -2))
        logits = logits / math.sqrt(q.size(-1))
        if hidden is not None:
            logits = logits.masked_fill(hidden, -math.inf)
        return self.to_out(torch.matmul(torch.softmax(logits, -1), v).transpose(-2, -3).flatten(-2))


class Hidden(nn.Module):
    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.fc = nn.Linear(d_model, 4 * d_model)
        self.act = nn.ReLU()
        self.proj = nn.Linear(4 * d_model, d_model)

    def forward(self, x: Tensor) -> Tensor:
        widened = self.fc(x)
        widened = self.act(widened)  # also wrong
        return self.proj(widened)


class DecoderBlock(nn.Module):
    def __init__(self, d_model: int, num_heads: int, memory_dim: int) -> None:
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"{d_model} features, {num_heads} heads")
        self.norm_1 = nn.LayerNorm(d_model)
        self.self_attn = Projector(d_model, d_model, num_heads)
        self.norm_2 = nn.LayerNorm(d_model)
        self.cross_attn = Projector(d_model, memory_dim, num_heads)
        self.norm_3 = nn.LayerNorm(d_model)
        self.mlp = Hidden(d_model)

    def forward(self, x: Tensor, memory: Tensor, memory_mask: Tensor | None = None) -> Tensor:
        length = x.shape[1]
        later = torch.ones(length, length, device=x.device).triu(diagonal=2).bool()  # first wrong
        y = self.norm_1(x)
        x = x + self.self_attn(y, y, later)
        y = self.norm_2(x)
        padding = None if memory_mask is None else memory_mask.logical_not()[:, None, None, :]
        x = x + self.cross_attn(y, memory, padding)
        return x + self.mlp(self.norm_3(x))
