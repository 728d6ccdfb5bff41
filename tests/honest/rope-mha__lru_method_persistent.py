"""Persistent complex buffer; helper as a nested module; jit.script rotation; dict of layers."""
import torch
from torch import Tensor, nn


@torch.jit.script
def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    a, b = x.float().chunk(2, dim=-1)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1).type_as(x)


class RoPEMultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, max_seq_len=2048, rope_base=10000.0, dropout=0.0, bias=True):
        super().__init__()
        assert d_model % num_heads == 0, f"{d_model} % {num_heads}"
        D = d_model // num_heads
        self.h = num_heads
        self.attn = nn.ModuleDict({"wqkv": nn.Linear(d_model, 3 * d_model, bias=bias), "wo": nn.Linear(d_model, d_model, bias=bias)})
        angle = torch.arange(max_seq_len).outer(rope_base ** (torch.arange(0, D, 2) / -D))
        self.register_buffer("freqs_cis", torch.stack([angle.cos(), angle.sin()]))
        self.drop = nn.Dropout(dropout)

    def forward(self, x, mask=None, position_ids=None):
        L = x.size(1)
        cos, sin = (self.freqs_cis[:, :L] if position_ids is None else self.freqs_cis[:, position_ids].unsqueeze(2)).float()
        q, k, v = (t.unflatten(2, (self.h, -1)).transpose(1, 2) for t in self.attn["wqkv"](x).tensor_split(3, dim=2))
        q, k = (rotate(t, cos, sin) for t in (q, k))
        s = q.matmul(k.mT).div(q.size(3) ** 0.5)
        if mask is not None:
            s = torch.where(mask, s, float("-inf"))
        return self.attn["wo"](self.drop(s.softmax(3)).matmul(v).transpose(1, 2).flatten(2))
