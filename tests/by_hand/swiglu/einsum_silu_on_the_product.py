# mistakes: silu-on-the-product
"""einsum with the plain weights."""

import torch
from torch import nn


class SwiGLU(nn.Module):
    def __init__(self, dim, hidden_dim):
        super().__init__()
        lin = lambda a, b: nn.Linear(a, b, bias=False)
        self.gate_proj, self.up_proj, self.down_proj = lin(dim, hidden_dim), lin(dim, hidden_dim), lin(hidden_dim, dim)

    def forward(self, x):
        a = torch.einsum("fm,...m->...f", self.gate_proj.weight, x)
        b = torch.einsum("fm,...m->...f", self.up_proj.weight, x)
        h = a * b
        h = h * torch.sigmoid(h)  # first wrong
        return torch.einsum("mf,...f->...m", self.down_proj.weight, h)
