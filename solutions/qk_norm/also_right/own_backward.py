"""Write the norm as an autograd.Function with its own backward pass, after the heads are repeated.

Only the input and one number for each row are kept for the backward pass. Each key is normalised
H / Hkv times here, because it is repeated before the norm.
"""

import torch
from torch import nn


class Normalise(torch.autograd.Function):
    @staticmethod
    def forward(ctx, t, weight, eps):
        wide = t.to(torch.promote_types(t.dtype, torch.float32))
        inverse = wide.pow(2).mean(-1, keepdim=True).add(eps).rsqrt()
        ctx.save_for_backward(t, weight, inverse)
        return (wide * inverse * weight).to(t.dtype)

    @staticmethod
    def backward(ctx, grad):
        t, weight, inverse = ctx.saved_tensors
        unit = t * inverse
        to_unit = grad * weight
        to_t = inverse * (to_unit - unit * (to_unit * unit).mean(-1, keepdim=True))
        to_weight = (grad * unit).flatten(0, -2).sum(0)
        return to_t.to(t.dtype), to_weight.to(weight.dtype), None


class Norm(nn.Module):
    def __init__(self, width, eps):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(width)), eps

    def forward(self, t):
        return Normalise.apply(t, self.weight, self.eps)


class QKNormAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, head_dim=None, eps=1e-6):
        super().__init__()
        assert head_dim is not None or d_model % num_heads == 0
        assert num_heads % num_kv_heads == 0
        self.heads, self.copies = num_heads, num_heads // num_kv_heads
        width = d_model // num_heads if head_dim is None else head_dim
        self.W_q = nn.Linear(d_model, num_heads * width, bias=False)
        self.W_o = nn.Linear(num_heads * width, d_model, bias=False)
        rows = num_kv_heads * width
        self.W_k, self.W_v = (nn.Linear(d_model, rows, bias=False) for _ in range(2))
        self.q_norm, self.k_norm = Norm(width, eps), Norm(width, eps)

    def forward(self, x, mask=None):
        batch, length, _ = x.shape
        q = torch.stack(self.W_q(x).chunk(self.heads, dim=-1), dim=1)
        k, v = (
            torch.stack(layer(x).chunk(self.heads // self.copies, dim=-1), dim=1)
            .unsqueeze(2)
            .expand(-1, -1, self.copies, -1, -1)
            .flatten(1, 2)
            for layer in (self.W_k, self.W_v)
        )
        q, k, v = (t.flatten(0, 1) for t in (self.q_norm(q), self.k_norm(k), v))
        bias = x.new_zeros(batch, self.heads, length, length)
        if mask is not None:
            bias = bias.masked_fill(~mask, torch.finfo(x.dtype).min)
        scores = torch.baddbmm(bias.flatten(0, 1), q, k.mT, alpha=q.shape[-1] ** -0.5)
        mixed = torch.bmm(scores.softmax(-1), v).unflatten(0, (batch, self.heads))
        return self.W_o(torch.cat(mixed.unbind(1), dim=-1))
