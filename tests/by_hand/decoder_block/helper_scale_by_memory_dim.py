# mistakes: scale-by-memory-dim
"""The scale is made from the shape of a key weight, whose columns are not what a head has."""

import torch
from torch import nn
from torch.nn import functional as F


class MultiHead(nn.Module):
    def __init__(self, query_dim, heads, context_dim):
        super().__init__()
        if query_dim % heads:
            raise ValueError((query_dim, heads))
        self.heads = heads
        self.wq = nn.Linear(query_dim, query_dim)
        self.wk = nn.Linear(context_dim, query_dim)
        self.wv = nn.Linear(context_dim, query_dim)
        self.wo = nn.Linear(query_dim, query_dim)

    def cut(self, t):
        return t.unflatten(-1, (self.heads, t.shape[-1] // self.heads)).permute(0, 2, 1, 3)

    def forward(self, x, context, mask):
        columns = self.wk.weight.shape[1]
        dot = torch.einsum("bhid,bhjd->bhij", self.cut(self.wq(x)), self.cut(self.wk(context)))
        dot = dot * (columns / self.heads) ** -0.5  # first wrong
        if mask is not None:
            dot = dot + torch.zeros_like(mask, dtype=dot.dtype).masked_fill(mask.logical_not(), -1e9)
        attn = F.softmax(dot, dim=-1)
        out = torch.einsum("bhij,bhjd->bihd", attn, self.cut(self.wv(context)))
        return self.wo(out.reshape(x.shape))


class DecoderBlock(nn.Module):
    def __init__(self, d_model, num_heads, memory_dim):
        super().__init__()
        self.self_attn = MultiHead(d_model, num_heads, d_model)
        self.cross_attn = MultiHead(d_model, num_heads, memory_dim)
        for number in "123":
            setattr(self, f"norm_{number}", nn.LayerNorm(d_model))
        self.mlp = nn.ModuleDict(dict(fc=nn.Linear(d_model, 4 * d_model), proj=nn.Linear(4 * d_model, d_model)))

    def forward(self, x, memory, memory_mask=None):
        order = torch.arange(x.shape[1], device=x.device)
        past = order.unsqueeze(0) <= order.unsqueeze(1)
        real = memory_mask
        if real is not None:
            real = real.view(real.shape[0], 1, 1, real.shape[1])
        y = self.norm_1(x)
        a = x + self.self_attn(y, y, past)
        b = a + self.cross_attn(self.norm_2(a), memory, real)
        return b + self.mlp["proj"](F.gelu(self.mlp["fc"](self.norm_3(b))))
