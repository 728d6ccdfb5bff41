"""Compile the attention with torch.jit.script, and write the rotation's backward pass by hand.

The backward pass is a rotation by the negative angle, so autograd records one operation for each of
q and k. The products broadcast over the group, and torch copies k and v for this, as the reference
does.
"""

import torch
from torch import Tensor, nn


@torch.jit.script
def grouped_attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    b, h, n, d = q.size(0), q.size(1), q.size(2), q.size(3)
    g = k.size(1)
    scores = torch.matmul(q.view(b, g, h // g, n, d), k.unsqueeze(2).transpose(-1, -2)) / float(d) ** 0.5
    scores = scores.masked_fill(mask.expand(b, h, n, n).reshape(b, g, h // g, n, n).logical_not(), float("-inf"))
    return torch.matmul(torch.softmax(scores, dim=-1), v.unsqueeze(2)).reshape(b, h, n, d)


class Rotate(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, cos, sin):
        ctx.save_for_backward(cos, sin)
        a, b = x.chunk(2, dim=-1)
        return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1)

    @staticmethod
    def backward(ctx, grad):
        cos, sin = ctx.saved_tensors
        a, b = grad.chunk(2, dim=-1)
        return torch.cat((a * cos + b * sin, b * cos - a * sin), dim=-1), None, None


class LlamaAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, max_seq_len=2048, rope_base=10000):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"{d_model} is not a multiple of {num_heads}")
        if num_heads % num_kv_heads != 0:
            raise ValueError(f"{num_heads} is not a multiple of {num_kv_heads}")
        self.shape_q, self.shape_kv = (num_heads, d_model // num_heads), (num_kv_heads, d_model // num_heads)
        kv_dim = num_kv_heads * (d_model // num_heads)
        self.projections = nn.ModuleDict({"query": nn.Linear(d_model, d_model, False), "key": nn.Linear(d_model, kv_dim, False)})
        self.projections["value"] = nn.Linear(d_model, kv_dim, False)
        self.dense = nn.Linear(d_model, d_model, False)
        self.rope_base, self.tables = rope_base, None
        self.max_seq_len = max_seq_len

    def rows(self, position_ids, dtype):
        if self.tables is None:
            dim = self.shape_q[1]
            inv_freq = torch.reciprocal(torch.pow(float(self.rope_base), torch.arange(0, dim, 2, dtype=torch.float) / dim))
            angles = torch.einsum("i,j->ij", torch.arange(self.max_seq_len, dtype=torch.float), inv_freq)
            self.tables = (angles.cos(), angles.sin())
        return tuple(table.to(position_ids.device)[position_ids].unsqueeze(1).to(dtype) for table in self.tables)

    def forward(self, x, mask=None, position_ids=None):
        n = x.size(1)
        if position_ids is None:
            position_ids = torch.arange(n, device=x.device)[None]
        cos, sin = self.rows(position_ids, x.dtype)
        q = Rotate.apply(self.projections["query"](x).unflatten(-1, self.shape_q).transpose(1, 2), cos, sin)
        k = Rotate.apply(self.projections["key"](x).unflatten(-1, self.shape_kv).transpose(1, 2), cos, sin)
        v = self.projections["value"](x).unflatten(-1, self.shape_kv).transpose(1, 2)
        keep = torch.ones(n, n, dtype=torch.bool, device=x.device) if mask is None else mask
        return self.dense(grouped_attention(q, k, v, keep).transpose(1, 2).flatten(2))
