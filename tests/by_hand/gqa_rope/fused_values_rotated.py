# mistakes: values-rotated
"""One projection for all heads of all three kinds, turned in one go before they are split."""

import torch
from torch import nn


class LlamaAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, max_seq_len=2048, rope_base=10000.0):
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"{d_model=} {num_heads=}")
        if num_heads % num_kv_heads:
            raise ValueError(f"{num_heads=} {num_kv_heads=}")
        self.H, self.G, self.D = num_heads, num_kv_heads, d_model // num_heads
        self.qkv_proj = nn.Linear(d_model, (self.H + 2 * self.G) * self.D, bias=False)
        self.out_proj = nn.Linear(d_model, d_model, bias=False)
        freq = 1 / rope_base ** (torch.arange(0, self.D, 2) / self.D)
        self.register_buffer("tables", self.make(torch.arange(max_seq_len)[:, None] * freq), persistent=False)

    @staticmethod
    def make(angle):
        return torch.stack((angle.cos(), angle.sin()))

    def turn(self, t, cos, sin):
        a, b = t.chunk(2, -1)
        return torch.cat((a * cos - b * sin, a * sin + b * cos), -1)

    def forward(self, x, mask=None, position_ids=None):
        b, n = x.shape[:2]
        if position_ids is None:
            position_ids = torch.arange(n, device=x.device)[None]
        cos, sin = self.tables[:, position_ids].unsqueeze(-2)
        heads = self.qkv_proj(x).view(b, n, -1, self.D)
        heads = self.turn(heads, cos, sin)  # first wrong
        q, k, v = heads.split([self.H, self.G, self.G], dim=2)
        q = q.unflatten(2, (self.G, -1)).permute(0, 2, 3, 1, 4)
        k, v = k.permute(0, 2, 3, 1).unsqueeze(2), v.transpose(1, 2).unsqueeze(2)
        s = (q @ k) * self.D**-0.5
        if mask is not None:
            hidden = ~mask.expand(b, self.H, n, n).reshape(s.shape)
            s = s + torch.zeros_like(s).masked_fill(hidden, float("-inf"))
        return self.out_proj((s.softmax(-1) @ v).permute(0, 3, 1, 2, 4).reshape(b, n, -1))
