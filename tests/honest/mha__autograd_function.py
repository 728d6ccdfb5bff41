"""Softmax and dropout as an autograd.Function with a backward of its own."""
import torch
from torch import nn


class MaskedSoftmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx, scores, mask):
        if mask is not None:
            scores = scores.masked_fill(~mask, -float("inf"))
        p = torch.softmax(scores, -1)
        ctx.save_for_backward(p)
        return p

    @staticmethod
    def backward(ctx, g):
        (p,) = ctx.saved_tensors
        return p * (g - (g * p).sum(-1, keepdim=True)), None


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0, bias=True):
        super().__init__()
        if d_model % num_heads:
            raise ValueError("bad sizes")
        self.num_heads = num_heads
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = (nn.Linear(d_model, d_model, bias=bias) for _ in range(4))
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key, value, mask=None, return_weights=False):
        q, k, v = (
            p(t).unflatten(2, (self.num_heads, -1)).movedim(2, 1)
            for p, t in ((self.q_proj, query), (self.k_proj, key), (self.v_proj, value))
        )
        w = MaskedSoftmax.apply(q @ k.mT / q.size(-1) ** 0.5, mask)
        out = self.o_proj((self.dropout(w) @ v).movedim(1, 2).flatten(2))
        return (out, w) if return_weights else out
