"""Write masking and softmax as an autograd.Function, and project q separately from k and v.

The two projections read x twice instead of once. The function keeps only the weights for the
backward pass, as torch.softmax does, but makes more tensors of their size on the way.
"""

import torch
from torch import nn


class MaskedSoftmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx, scores, mask):
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = (scores - scores.logsumexp(-1, keepdim=True)).exp()
        ctx.save_for_backward(weights)
        return weights

    @staticmethod
    def backward(ctx, grad):
        (weights,) = ctx.saved_tensors
        return weights * (grad - (grad * weights).sum(-1, keepdim=True)), None


class FusedMultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0, bias=True):
        super().__init__()
        assert num_heads <= d_model and d_model % num_heads == 0, (d_model, num_heads)
        self.num_heads = num_heads
        self.to_q = nn.Linear(d_model, d_model, bias=bias)
        self.to_kv = nn.Linear(d_model, 2 * d_model, bias=bias)
        self.out_proj = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = dropout

    def forward(self, x, mask=None):
        q = self.to_q(x).unflatten(-1, (self.num_heads, -1)).movedim(2, 1)
        k, v = self.to_kv(x).unflatten(-1, (2, self.num_heads, -1)).permute(2, 0, 3, 1, 4)
        scores = (q @ k.mT).mul(q.shape[-1] ** -0.5)
        weights = MaskedSoftmax.apply(scores, mask)
        if self.training and self.dropout:
            weights = weights * torch.bernoulli(torch.full_like(weights, 1 - self.dropout)) / (1 - self.dropout)
        return self.out_proj((weights @ v).movedim(1, 2).flatten(-2))
