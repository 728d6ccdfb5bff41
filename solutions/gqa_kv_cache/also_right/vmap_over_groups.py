"""Write the attention of one query head, and map it with vmap over group, heads and batch.

vmap shares the keys and values within a group, so they are not repeated in memory. The hand-written
softmax makes three tensors of the size of the scores, while torch.softmax makes one.
"""

import torch
from torch import nn
from torch.func import vmap


class RowSoftmax(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(scores):
        e = torch.exp(scores - scores.max(-1, keepdim=True)[0])
        return e / e.sum(-1, keepdim=True)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx, grad):
        (w,) = ctx.saved_tensors
        return w * (grad - (grad * w).sum(-1, keepdim=True))


def one_head(q, k, v):
    n, t = q.shape[0], k.shape[0]
    visible = torch.arange(t)[None, :] - (t - n) <= torch.arange(n)[:, None]
    return RowSoftmax.apply(torch.where(visible, q @ k.T, -1e9)) @ v


one_group = vmap(one_head, in_dims=(0, None, None))


class CachedGroupedQueryAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, bias=False):
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"{d_model=} is not a multiple of {num_heads=}")
        if num_heads % num_kv_heads:
            raise ValueError(f"{num_heads=} is not a multiple of {num_kv_heads=}")
        self.kv_shape = (num_kv_heads, d_model // num_heads)
        widths = (d_model, num_kv_heads * self.kv_shape[1], num_kv_heads * self.kv_shape[1], d_model)
        self.layers = nn.ModuleList([nn.Linear(d_model, width, bias=bias) for width in widths])

    def forward(self, x, past_kv=None, use_cache=False):
        q = self.layers[0](x).unflatten(2, (self.kv_shape[0], -1, self.kv_shape[1])).movedim(1, 3)
        k, v = [layer(x).unflatten(2, self.kv_shape).movedim(2, 1) for layer in self.layers[1:3]]
        if past_kv is not None:
            k = torch.concat([past_kv[0], k], -2)
            v = torch.concat([past_kv[1], v], -2)
        heads = vmap(vmap(one_group))(q * self.kv_shape[1] ** -0.5, k, v)
        out = self.layers[3](heads.movedim(3, 1).flatten(2))
        if use_cache:
            return out, (k, v)
        return out
