"""Write the attention for a single head of a single sequence, and let vmap add heads and batch.

The function on matrices reads like the formula. A reader must know vmap to see which axes it adds,
and vmap does not support every operation.
"""

import torch
from torch import nn


def one_head(q, k, v, bias):
    scores = q @ k.T / q.shape[-1] ** 0.5 + bias
    return torch.softmax(scores, dim=-1) @ v


over_heads = torch.vmap(one_head, in_dims=(1, 1, 1, None), out_dims=1)
over_batch = torch.vmap(over_heads, in_dims=(0, 0, 0, 0))


class Attention(nn.Module):
    def __init__(self, d_model, num_heads, width):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"d_model {d_model} / num_heads {num_heads} is not whole")
        self.shape = (num_heads, d_model // num_heads)
        self.to_q = nn.Linear(d_model, d_model)
        self.to_k = nn.Linear(width, d_model)
        self.to_v = nn.Linear(width, d_model)
        self.to_out = nn.Linear(d_model, d_model)

    def forward(self, x, source, bias):
        q = self.to_q(x).unflatten(-1, self.shape)
        k = self.to_k(source).unflatten(-1, self.shape)
        v = self.to_v(source).unflatten(-1, self.shape)
        return self.to_out(over_batch(q, k, v, bias.expand(len(x), -1, -1)).flatten(-2))


class MLP(nn.Sequential):
    def __init__(self, d_model):
        super().__init__()
        self.add_module("fc", nn.Linear(d_model, 4 * d_model))
        self.add_module("act", nn.GELU())
        self.add_module("proj", nn.Linear(4 * d_model, d_model))


def as_bias(allowed, like):
    return torch.zeros(allowed.shape, dtype=like.dtype, device=like.device).masked_fill(
        ~allowed, torch.finfo(like.dtype).min / 2
    )


class DecoderBlock(nn.Module):
    def __init__(self, d_model, num_heads, memory_dim):
        super().__init__()
        self.norm_1, self.self_attn = nn.LayerNorm(d_model), Attention(d_model, num_heads, d_model)
        self.norm_2 = nn.LayerNorm(d_model)
        self.cross_attn = Attention(d_model, num_heads, memory_dim)
        self.norm_3, self.mlp = nn.LayerNorm(d_model), MLP(d_model)

    def forward(self, x, memory, memory_mask=None):
        length = x.shape[1]
        if memory_mask is None:
            memory_mask = memory.new_ones(memory.shape[:2], dtype=torch.bool)
        causal = x.new_ones(length, length, dtype=torch.bool).tril()
        y = self.norm_1(x)
        x = x + self.self_attn(y, y, as_bias(causal, x))
        x = x + self.cross_attn(self.norm_2(x), memory, as_bias(memory_mask, x)[:, None])
        return x + self.mlp(self.norm_3(x))
