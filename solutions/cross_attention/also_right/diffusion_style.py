"""Put batch and heads on one axis, and let baddbmm apply the scale and add the mask as a bias.

This saves two passes over the scores, because baddbmm does both during the product. In a row with
only padding, the weights would be equal instead of NaN, which hides the mistake.
"""

import torch
from torch import nn


class CrossAttention(nn.Module):
    def __init__(self, d_model, num_heads, memory_dim=None, bias=True):
        super().__init__()
        assert d_model % num_heads == 0, f"cannot cut {d_model} features into {num_heads} heads"
        context_dim = d_model if memory_dim is None else memory_dim
        self.heads = num_heads
        self.scale = (d_model // num_heads) ** -0.5
        self.to_q = nn.Linear(d_model, d_model, bias=bias)
        self.to_k = nn.Linear(context_dim, d_model, bias=bias)
        self.to_v = nn.Linear(context_dim, d_model, bias=bias)
        self.to_out = nn.Sequential(nn.Linear(d_model, d_model, bias=bias), nn.Dropout(0.0))

    def head_to_batch(self, t):
        b, n, c = t.shape
        t = t.reshape(b, n, self.heads, c // self.heads)
        return t.permute(0, 2, 1, 3).reshape(b * self.heads, n, c // self.heads)

    def batch_to_head(self, t):
        bh, n, d = t.shape
        t = t.reshape(bh // self.heads, self.heads, n, d)
        return t.permute(0, 2, 1, 3).reshape(bh // self.heads, n, self.heads * d)

    def forward(self, x, memory, memory_mask=None):
        q, k, v = (self.head_to_batch(t) for t in (self.to_q(x), self.to_k(memory), self.to_v(memory)))
        bias = torch.zeros(q.shape[0], 1, k.shape[1], dtype=q.dtype, device=q.device)
        if memory_mask is not None:
            bias = bias.masked_fill(~memory_mask.repeat_interleave(self.heads, dim=0)[:, None, :], torch.finfo(q.dtype).min)
        scores = torch.baddbmm(bias, q, k.transpose(-1, -2), beta=1, alpha=self.scale)
        return self.to_out(self.batch_to_head(torch.bmm(scores.softmax(dim=-1), v)))
