"""Write the backward pass by hand in an autograd.Function, with a dropout mask drawn beforehand.

The in-place operations make fewer tensors of the size of the scores than the reference. The price
is a backward pass that must be changed by hand whenever the forward pass changes.
"""

import torch
from torch import nn


class Attend(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v, mask, keep, scale):
        scores = torch.matmul(q, k.transpose(-1, -2)).mul_(scale)
        if mask is not None:
            scores.masked_fill_(~mask, float("-inf"))
        scores.sub_(scores.max(dim=-1, keepdim=True).values).exp_()
        weights = scores.div_(scores.sum(dim=-1, keepdim=True))
        ctx.save_for_backward(q, k, v, weights, keep)
        ctx.scale = scale
        return torch.matmul(weights * keep if keep is not None else weights, v), weights

    @staticmethod
    def backward(ctx, grad_heads, grad_weights):
        q, k, v, weights, keep = ctx.saved_tensors
        used = weights * keep if keep is not None else weights
        grad_v = used.transpose(-1, -2) @ grad_heads
        grad_used = grad_heads @ v.transpose(-1, -2)
        grad_p = grad_weights + (grad_used * keep if keep is not None else grad_used)
        grad_s = weights * (grad_p - (grad_p * weights).sum(dim=-1, keepdim=True)) * ctx.scale
        return grad_s @ k, grad_s.transpose(-1, -2) @ q, grad_v, None, None, None


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0, bias=True):
        super().__init__()
        self.head_dim, rest = divmod(d_model, num_heads)
        if rest:
            raise ValueError(f"d_model={d_model} leaves a rest of {rest} for num_heads={num_heads}")
        self.dropout = dropout
        for name in ("q_proj", "k_proj", "v_proj", "o_proj"):
            self.add_module(name, nn.Linear(d_model, d_model, bias=bias))

    def _heads(self, x):
        return x.unflatten(2, (-1, self.head_dim)).movedim(2, 1)

    def forward(self, query, key, value, mask=None, return_weights=False):
        q, k, v = self._heads(self.q_proj(query)), self._heads(self.k_proj(key)), self._heads(self.v_proj(value))
        keep = None
        if self.training and self.dropout > 0:
            shape = (*q.shape[:-1], k.shape[-2])
            keep = (torch.rand(shape, device=q.device) >= self.dropout).to(q.dtype) / (1 - self.dropout)
        heads, weights = Attend.apply(q, k, v, mask, keep, self.head_dim**-0.5)
        out = self.o_proj(heads.movedim(1, 2).flatten(2))
        return (out, weights) if return_weights else out
