"""Write the rotation as an autograd.Function, with a roll and a table of signed sines.

Forward and backward each take two products and a roll, without the gradient of a chunk. In
bfloat16, every call casts the whole tables, and the tables are part of the state_dict.
"""

import torch
from torch import nn


class Rotate(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, cos, sin):
        ctx.save_for_backward(cos, sin)
        return x * cos + torch.roll(x, x.shape[-1] // 2, dims=-1) * sin

    @staticmethod
    def backward(ctx, grad):
        cos, sin = ctx.saved_tensors
        return grad * cos + torch.roll(grad * sin, -(grad.shape[-1] // 2), dims=-1), None, None


class RoPEMultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, max_seq_len=2048, rope_base=10000.0, dropout=0.0, bias=True):
        super().__init__()
        if d_model % num_heads > 0:
            raise ValueError(f"{d_model=} {num_heads=}")
        self.num_heads, self.size = num_heads, d_model // num_heads
        # out, then q, k and v
        self.layers = nn.ModuleList([nn.Linear(d_model, d_model, bias), nn.Linear(d_model, 3 * d_model, bias)])
        self.drop = nn.Dropout(dropout)
        t = torch.arange(max_seq_len, dtype=torch.float32)
        freqs = rope_base ** (-torch.arange(0, self.size, 2).float() / self.size)
        angles = torch.outer(t, freqs)
        self.register_buffer("tables", torch.stack((angles.cos().repeat(1, 2), torch.cat((-angles.sin(), angles.sin()), -1))))

    def forward(self, x, mask=None, position_ids=None):
        out, into = self.layers
        B, L, M = x.shape
        if position_ids is None:
            position_ids = torch.arange(L, device=x.device).repeat(B, 1)
        cos, sin = self.tables.to(x.dtype)[:, position_ids].unsqueeze(2)
        q, k, v = (t.unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for t in into(x).split(M, dim=-1))
        q, k = Rotate.apply(q, cos, sin), Rotate.apply(k, cos, sin)
        s = torch.matmul(q * self.size**-0.5, k.transpose(-1, -2))
        if mask is not None:
            s = s + torch.zeros_like(s).masked_fill(~mask, -torch.inf)
        return out(torch.matmul(self.drop(s.softmax(-1)), v).transpose(1, 2).reshape(B, L, M))
