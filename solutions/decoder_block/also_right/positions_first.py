"""Put the axis of positions before the batch, as older code does, and add the masks with baddbmm.

All heads of all sequences form one batch of B * H matrices, so the mask of a sequence is repeated
for its heads. The transposes at both ends copy x and memory once.
"""

import torch
from torch import nn


class Attend(nn.Module):
    def __init__(self, d_model, num_heads, source_dim):
        super().__init__()
        assert d_model % num_heads == 0, (d_model, num_heads)
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model, d_model)
        self.W_k = nn.Linear(source_dim, d_model)
        self.W_v = nn.Linear(source_dim, d_model)
        self.W_o = nn.Linear(d_model, d_model)

    def fold(self, t):
        return t.reshape(t.shape[0], t.shape[1] * self.num_heads, -1).transpose(0, 1)

    def forward(self, x, source, bias):
        q, k, v = self.fold(self.W_q(x)), self.fold(self.W_k(source)), self.fold(self.W_v(source))
        scores = torch.baddbmm(bias, q, k.mT, alpha=q.shape[-1] ** -0.5)
        return self.W_o(torch.bmm(scores.softmax(2), v).transpose(0, 1).reshape(x.shape))


class DecoderBlock(nn.Module):
    def __init__(self, d_model, num_heads, memory_dim):
        super().__init__()
        self.self_attn = Attend(d_model, num_heads, d_model)
        self.cross_attn = Attend(d_model, num_heads, memory_dim)
        self.mlp = nn.ModuleDict(
            {"fc": nn.Linear(d_model, 4 * d_model), "proj": nn.Linear(4 * d_model, d_model)}
        )
        self.norm_1 = nn.LayerNorm(d_model)
        self.norm_2 = nn.LayerNorm(d_model)
        self.norm_3 = nn.LayerNorm(d_model)
        self.num_heads = num_heads

    def forward(self, x, memory, memory_mask=None):
        batch, length, _ = x.shape
        x, memory = x.transpose(0, 1), memory.transpose(0, 1)
        later = torch.ones(length, length, dtype=torch.bool, device=x.device).triu(1)
        ahead = x.new_zeros(length, length).masked_fill(later, float("-inf"))
        padding = x.new_zeros(batch * self.num_heads, 1, memory.shape[0])
        if memory_mask is not None:
            hidden = ~memory_mask.repeat_interleave(self.num_heads, dim=0)[:, None]
            padding = padding.masked_fill(hidden, float("-inf"))
        y = self.norm_1(x)
        x = x + self.self_attn(y, y, ahead.expand(batch * self.num_heads, -1, -1))
        x = x + self.cross_attn(self.norm_2(x), memory, padding)
        hidden = nn.functional.gelu(self.mlp["fc"](self.norm_3(x)))
        return (x + self.mlp["proj"](hidden)).transpose(0, 1)
