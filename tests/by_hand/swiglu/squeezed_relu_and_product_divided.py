# mistakes: relu-gate, product-divided
"""Clamped gates, and a scale as in attention."""

from torch import nn


class SwiGLU(nn.Module):
    def __init__(self, dim, hidden_dim):
        super().__init__()
        self.f = hidden_dim
        self.w1, self.w3 = nn.Linear(dim, hidden_dim, bias=False), nn.Linear(dim, hidden_dim, bias=False)
        self.w2 = nn.Linear(hidden_dim, dim, bias=False)

    def forward(self, x):
        open_ = self.w1(x).clamp(min=0)  # first wrong
        scale = self.f**-0.5  # also wrong
        return self.w2(open_ * self.w3(x) * scale)
