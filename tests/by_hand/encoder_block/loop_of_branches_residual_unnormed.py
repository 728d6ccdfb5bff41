# mistakes: second-residual-of-the-unnormed-sum
"""A loop over the two branches that keeps the sum before the norm for the residual."""

import torch
from torch import nn


class Attend(nn.Module):
    def __init__(self, width, heads, p):
        super().__init__()
        if width % heads:
            raise ValueError(f"{heads} heads for a width of {width}")
        self.heads = heads
        self.q_linear, self.k_linear = nn.Linear(width, width), nn.Linear(width, width)
        self.v_linear, self.out_proj = nn.Linear(width, width), nn.Linear(width, width)
        self.drop = nn.Dropout(p)

    def forward(self, x, hidden):
        b, n, m = x.shape
        shape = (b, n, self.heads, m // self.heads)
        q = self.q_linear(x).view(shape).transpose(1, 2)
        k = self.k_linear(x).view(shape).transpose(1, 2)
        v = self.v_linear(x).view(shape).transpose(1, 2)
        score = q.matmul(k.transpose(2, 3)).div(shape[-1] ** 0.5)
        if hidden is not None:
            score.masked_fill_(hidden.view(b, 1, 1, n), float("-inf"))
        share = self.drop(score.softmax(dim=3))
        return self.out_proj(share.matmul(v).transpose(1, 2).reshape(b, n, m))


class Widen(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.c_fc, self.c_proj = nn.Linear(width, hidden), nn.Linear(hidden, width)

    def forward(self, x, hidden):
        return self.c_proj(torch.clamp(self.c_fc(x), min=0))


class EncoderBlock(nn.Module):
    def __init__(self, d_model, num_heads, hidden_dim, dropout=0.0):
        super().__init__()
        self.self_attn = Attend(d_model, num_heads, dropout)
        self.mlp = Widen(d_model, hidden_dim)
        self.norm_1, self.norm_2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.drop = nn.Dropout(dropout)

    def forward(self, x, padding_mask=None):
        hidden = None if padding_mask is None else ~padding_mask
        stream = x
        for part, norm in ((self.self_attn, self.norm_1), (self.mlp, self.norm_2)):
            stream = stream + self.drop(part(x, hidden))  # first wrong
            x = norm(stream)
        return x
