"""Write the attention of one head for one sequence, and map it over heads and batch with vmap.

The function for one head needs no batch axes, and vmap turns it into the same batched products. The
hand-written softmax makes three tensors of the size of the scores, while torch.softmax makes one.
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


class CachedMultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, bias=True):
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"{d_model=} is not a multiple of {num_heads=}")
        self.shape = (num_heads, d_model // num_heads)
        self.layers = nn.ModuleList([nn.Linear(d_model, d_model, bias=bias) for _ in range(4)])

    def forward(self, x, past_kv=None, use_cache=False):
        q, k, v = [layer(x).unflatten(2, self.shape).movedim(2, 1) for layer in self.layers[:3]]
        if past_kv is not None:
            k = torch.concat([past_kv[0], k], -2)
            v = torch.concat([past_kv[1], v], -2)
        heads = vmap(vmap(one_head))(q * self.shape[1] ** -0.5, k, v)
        out = self.layers[3](heads.movedim(1, 2).flatten(2))
        if use_cache:
            return out, (k, v)
        return out
