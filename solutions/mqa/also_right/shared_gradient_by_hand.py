"""Write the attention as an autograd.Function whose backward pass sums over the heads with einsum.

The gradients of k and v are made without an axis for the heads, which saves H times their memory.
But the dropout needs a tensor of the size of the scores even if it is off, and second derivatives
are wrong.
"""

import torch
from torch import nn


class SharedAttention(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v, mask, noise):
        scale = q.shape[-1] ** -0.5
        scores = torch.einsum("bhid,bjd->bhij", q, k) * scale
        if mask is not None:
            scores.masked_fill_(~mask, float("-inf"))
        weights = scores.softmax(-1)
        ctx.save_for_backward(q, k, v, weights, noise)
        ctx.scale = scale
        return torch.einsum("bhij,bjd->bhid", weights * noise, v)

    @staticmethod
    def backward(ctx, grad):
        q, k, v, weights, noise = ctx.saved_tensors
        grad_v = torch.einsum("bhij,bhid->bjd", weights * noise, grad)
        grad_weights = torch.einsum("bhid,bjd->bhij", grad, v) * noise
        inner = (grad_weights * weights).sum(-1, keepdim=True)
        grad_scores = weights * (grad_weights - inner) * ctx.scale
        grad_q = torch.einsum("bhij,bjd->bhid", grad_scores, k)
        grad_k = torch.einsum("bhij,bhid->bjd", grad_scores, q)
        return grad_q, grad_k, grad_v, None, None


class MultiQueryAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0, bias=True):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"{d_model} features, {num_heads} heads")
        self.num_heads = num_heads
        self.one_value = nn.Linear(d_model, d_model // num_heads, bias=bias)
        self.one_key = nn.Linear(d_model, d_model // num_heads, bias=bias)
        self.last = nn.Linear(d_model, d_model, bias=bias)
        self.many = nn.Linear(d_model, d_model, bias=bias)
        self.drop = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        b, n, m = x.shape
        q = self.many(x).view(b, n, self.num_heads, -1).transpose(1, 2)
        noise = self.drop(x.new_ones(b, self.num_heads, n, n))
        out = SharedAttention.apply(q, self.one_key(x), self.one_value(x), mask, noise)
        return self.last(out.transpose(1, 2).reshape(b, n, m))
