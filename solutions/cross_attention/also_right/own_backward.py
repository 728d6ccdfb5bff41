"""Write the attention as an autograd.Function with its own backward pass.

The forward pass overwrites a single tensor of the size of the scores, while the reference makes a
new tensor in each step. The price is more code, and second derivatives through it are wrong.
"""

import torch
from torch import nn


class Attend(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v, padded, scale):
        scores = torch.matmul(q, k.transpose(-1, -2)).mul_(scale)
        if padded is not None:
            scores.masked_fill_(padded, float("-inf"))
        scores.sub_(scores.max(dim=-1, keepdim=True).values).exp_()
        weights = scores.div_(scores.sum(dim=-1, keepdim=True))
        ctx.save_for_backward(q, k, v, weights)
        ctx.scale = scale
        return torch.matmul(weights, v)

    @staticmethod
    def backward(ctx, grad):
        q, k, v, weights = ctx.saved_tensors
        grad_v = weights.transpose(-1, -2) @ grad
        grad_p = grad @ v.transpose(-1, -2)
        grad_s = weights * (grad_p - (grad_p * weights).sum(dim=-1, keepdim=True)) * ctx.scale
        return grad_s @ k, grad_s.transpose(-1, -2) @ q, grad_v, None, None


class CrossAttention(nn.Module):
    def __init__(self, d_model, num_heads, memory_dim=None, bias=True):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"d_model {d_model}, num_heads {num_heads}")
        self.head_dim = d_model // num_heads
        widths = {"W_q": d_model, "W_k": memory_dim or d_model, "W_v": memory_dim or d_model, "W_o": d_model}
        for name, width in widths.items():
            self.add_module(name, nn.Linear(width, d_model, bias=bias))

    def _heads(self, t):
        return t.unflatten(2, (-1, self.head_dim)).movedim(2, 1)

    def forward(self, x, memory, memory_mask=None):
        padded = None if memory_mask is None else memory_mask.logical_not()[:, None, None]
        heads = Attend.apply(self._heads(self.W_q(x)), self._heads(self.W_k(memory)), self._heads(self.W_v(memory)), padded, self.head_dim**-0.5)
        return self.W_o(heads.movedim(1, 2).flatten(2))
