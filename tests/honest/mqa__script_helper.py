"""@torch.jit.script core and lazily registered mask buffer."""
from typing import Optional
import torch
from torch import nn, Tensor


@torch.jit.script
def attend(q: Tensor, k: Tensor, v: Tensor, mask: Optional[Tensor], p: float, training: bool) -> Tensor:
    s = torch.einsum("bhid,bjd->bhij", q, k) * (q.size(-1) ** -0.5)
    if mask is not None:
        s = s.masked_fill(torch.logical_not(mask), float("-inf"))
    w = torch.softmax(s, dim=-1)
    w = torch.dropout(w, p, training)
    return torch.einsum("bhij,bjd->bhid", w, v)


class MultiQueryAttention(nn.Module):
    def __init__(self, d_model: int, num_heads: int, dropout: float = 0.0, bias: bool = True):
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"{d_model=} {num_heads=}")
        self.num_heads = num_heads
        self.head_dim = d_model // num_heads
        self.to_q = nn.Linear(d_model, d_model, bias=bias)
        self.to_kv = nn.Linear(d_model, 2 * self.head_dim, bias=bias)
        self.to_out = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = dropout

    def extra_repr(self):
        return f"heads={self.num_heads}"

    def forward(self, x, mask: Optional[Tensor] = None):
        q = self.to_q(x).unflatten(-1, (self.num_heads, self.head_dim)).transpose(1, 2)
        k, v = self.to_kv(x).chunk(2, dim=-1)
        o = attend(q, k, v, mask, self.dropout, self.training)
        return self.to_out(o.transpose(1, 2).flatten(-2))
