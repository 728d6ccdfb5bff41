# mistakes: residual-of-normed-input
"""Three branches with their norms inside; the first branch adds to the wrong tensor."""

import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, width, heads, source_width):
        super().__init__()
        if width % heads != 0:
            raise ValueError(f"width {width}, heads {heads}")
        self.heads = heads
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(source_width, width)
        self.value = nn.Linear(source_width, width)
        self.output = nn.Linear(width, width)

    def forward(self, x, source, keep=None):
        q = torch.stack(self.query(x).chunk(self.heads, dim=-1))
        k = torch.stack(self.key(source).chunk(self.heads, dim=-1))
        v = torch.stack(self.value(source).chunk(self.heads, dim=-1))
        logits = torch.matmul(q, k.mT) / q.shape[-1] ** 0.5
        if keep is not None:
            logits = torch.where(keep, logits, torch.finfo(logits.dtype).min)
        mixed = torch.matmul(logits.softmax(-1), v)
        return self.output(torch.cat(mixed.unbind(0), dim=-1))


class Mlp(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.fc = nn.Linear(width, width * 4)
        self.proj = nn.Linear(width * 4, width)

    def forward(self, x):
        h = self.fc(x)
        return self.proj(h * torch.special.ndtr(h))


class DecoderBlock(nn.Module):
    def __init__(self, d_model, num_heads, memory_dim):
        super().__init__()
        self.self_attn = Attention(d_model, num_heads, d_model)
        self.cross_attn = Attention(d_model, num_heads, memory_dim)
        self.mlp = Mlp(d_model)
        self.norm_1 = nn.LayerNorm(d_model)
        self.norm_2 = nn.LayerNorm(d_model)
        self.norm_3 = nn.LayerNorm(d_model)

    def look_back(self, x):
        n = torch.arange(x.shape[1], device=x.device)
        x = self.norm_1(x)  # first wrong
        return x + self.self_attn(x, x, n[:, None] >= n)

    def look_up(self, x, memory, mask):
        keep = None if mask is None else mask[:, None]
        return x + self.cross_attn(self.norm_2(x), memory, keep)

    def think(self, x):
        return x + self.mlp(self.norm_3(x))

    def forward(self, x, memory, memory_mask=None):
        return self.think(self.look_up(self.look_back(x), memory, memory_mask))
