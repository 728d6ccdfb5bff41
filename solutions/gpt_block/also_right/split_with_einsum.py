"""Project q, k and v with three layers, write the products as einsum, and the norm by hand.

Three small projections need no split of a fused result, but they take three products instead of one
larger one. A norm by hand makes five tensors of the size of x instead of one.
"""

import torch
from torch import nn


class Norm(nn.Module):
    def __init__(self, width, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width))
        self.eps = eps

    def forward(self, x):
        centred = x - x.mean(-1, keepdim=True)
        variance = centred.pow(2).mean(-1, keepdim=True)
        return centred * torch.rsqrt(variance + self.eps) * self.weight + self.bias


class Attention(nn.Module):
    def __init__(self, d_model, num_heads, dropout):
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"{num_heads} heads do not divide d_model {d_model}")
        self.heads = num_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        q, k, v = (
            layer(x).unflatten(-1, (self.heads, -1))
            for layer in (self.q_proj, self.k_proj, self.v_proj)
        )
        scores = torch.einsum("bihd,bjhd->bhij", q * q.shape[-1] ** -0.5, k)
        length = x.shape[1]
        position = torch.arange(length, device=x.device)
        later = position[None, :] > position[:, None]
        scores = torch.where(later, torch.finfo(scores.dtype).min, scores)
        weights = self.drop(scores.softmax(-1))
        return self.out_proj(torch.einsum("bhij,bjhd->bihd", weights, v).flatten(2))


class Feed(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.fc = nn.Linear(d_model, 4 * d_model)
        self.proj = nn.Linear(4 * d_model, d_model)

    def forward(self, x):
        h = self.fc(x)
        return self.proj(h * 0.5 * (1 + torch.erf(h / 2**0.5)))


class GPTBlock(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0):
        super().__init__()
        self.ln_1, self.ln_2 = Norm(d_model), Norm(d_model)
        self.attn, self.mlp = Attention(d_model, num_heads, dropout), Feed(d_model)
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        for norm, part in ((self.ln_1, self.attn), (self.ln_2, self.mlp)):
            x = x + self.drop(part(norm(x)))
        return x
