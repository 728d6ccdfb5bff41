"""Write the attention as an autograd.Function with its own backward pass, shared by both branches.

The forward pass overwrites a single tensor of the size of the scores, so each branch keeps only its
weights. The price is more code and wrong second derivatives.
"""

import torch
from torch import nn


class Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v, hidden):
        ctx.scale = q.shape[-1] ** -0.5
        scores = torch.matmul(q, k.transpose(-1, -2)).mul_(ctx.scale)
        if hidden is not None:
            scores.masked_fill_(hidden, float("-inf"))
        weights = scores.sub_(scores.amax(-1, keepdim=True)).exp_()
        weights.div_(weights.sum(-1, keepdim=True))
        ctx.save_for_backward(q, k, v, weights)
        return weights @ v

    @staticmethod
    def backward(ctx, grad):
        q, k, v, weights = ctx.saved_tensors
        to_weights = grad @ v.transpose(-1, -2)
        to_scores = weights * (to_weights - (to_weights * weights).sum(-1, keepdim=True))
        to_scores = to_scores * ctx.scale
        to_v = weights.transpose(-1, -2) @ grad
        return to_scores @ k, to_scores.transpose(-1, -2) @ q, to_v, None


class Projections(nn.Module):
    def __init__(self, d_model, source_dim, num_heads):
        super().__init__()
        self.query, self.output = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        self.key, self.value = nn.Linear(source_dim, d_model), nn.Linear(source_dim, d_model)
        self.num_heads = num_heads

    def forward(self, x, source, hidden=None):
        def heads(t):
            return t.unflatten(2, (self.num_heads, -1)).movedim(2, 1)

        mixed = Attention.apply(
            heads(self.query(x)), heads(self.key(source)), heads(self.value(source)), hidden
        )
        return self.output(mixed.movedim(1, 2).flatten(2))


class Widen(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.fc, self.proj = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        h = self.fc(x)
        return self.proj(0.5 * h * (1 + torch.erf(h / 2**0.5)))


class DecoderBlock(nn.Module):
    def __init__(self, d_model, num_heads, memory_dim):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"d_model {d_model}, num_heads {num_heads}")
        self.self_attn = Projections(d_model, d_model, num_heads)
        self.cross_attn = Projections(d_model, memory_dim, num_heads)
        self.mlp = Widen(d_model)
        for i in (1, 2, 3):
            self.add_module(f"norm_{i}", nn.LayerNorm(d_model))

    def forward(self, x, memory, memory_mask=None):
        n = x.shape[1]
        later = torch.ones((n, n), device=x.device).triu(diagonal=1).bool()
        y = self.norm_1(x)
        x = torch.add(x, self.self_attn(y, y, later))
        hidden = None if memory_mask is None else memory_mask.view(len(x), 1, 1, -1) == 0
        x = torch.add(x, self.cross_attn(self.norm_2(x), memory, hidden))
        return torch.add(x, self.mlp(self.norm_3(x)))
