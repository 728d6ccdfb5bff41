# mistakes: fill-of-minus-100
# diagnosis: line elsewhere
"""All heads in one batch, the masks as the bias of a baddbmm; a number that looks low enough."""

import torch
from torch import nn

LOW = -100.0


class Heads(nn.Module):
    def __init__(self, d_model, num_heads, source_dim):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"d_model ({d_model}) must be a multiple of num_heads ({num_heads})")
        self.n = num_heads
        self.q_linear = nn.Linear(d_model, d_model)
        self.k_linear = nn.Linear(source_dim, d_model)
        self.v_linear = nn.Linear(source_dim, d_model)
        self.o_linear = nn.Linear(d_model, d_model)

    def fold(self, t):
        b, length, width = t.shape
        t = t.view(b, length, self.n, width // self.n)
        return t.transpose(1, 2).reshape(b * self.n, length, width // self.n)

    def forward(self, x, source, bias):
        q, k, v = self.fold(self.q_linear(x)), self.fold(self.k_linear(source)), self.fold(self.v_linear(source))
        bias = bias.expand(len(x), -1, -1).repeat_interleave(self.n, dim=0)
        kept = torch.baddbmm(bias * 0, q, k.transpose(1, 2), alpha=q.size(-1) ** -0.5)
        scores = torch.where(bias == 0, kept, bias)  # first wrong
        mixed = torch.bmm(torch.softmax(scores, dim=2), v)
        return self.o_linear(mixed.unflatten(0, (-1, self.n)).transpose(1, 2).flatten(2))


class Feed(nn.Sequential):
    def __init__(self, width):
        super().__init__()
        self.add_module("fc", nn.Linear(width, 4 * width))
        self.add_module("gelu", nn.GELU())
        self.add_module("proj", nn.Linear(4 * width, width))


class DecoderBlock(nn.Module):
    def __init__(self, d_model, num_heads, memory_dim):
        super().__init__()
        self.norm_1 = nn.LayerNorm(d_model)
        self.norm_2 = nn.LayerNorm(d_model)
        self.norm_3 = nn.LayerNorm(d_model)
        self.self_attn = Heads(d_model, num_heads, d_model)
        self.cross_attn = Heads(d_model, num_heads, memory_dim)
        self.mlp = Feed(d_model)

    def forward(self, x, memory, memory_mask=None):
        length = x.shape[1]
        later = torch.ones(length, length, dtype=torch.bool, device=x.device).triu(diagonal=1)
        causal = x.new_zeros(1, length, length).masked_fill(later, LOW)
        padding = x.new_zeros(1, 1, memory.shape[1])
        if memory_mask is not None:
            padding = x.new_zeros(memory_mask.shape).masked_fill(~memory_mask, LOW).unsqueeze(1)
        y = self.norm_1(x)
        x = x + self.self_attn(y, y, causal)
        x = x + self.cross_attn(self.norm_2(x), memory, padding)
        return x + self.mlp(self.norm_3(x))
