"""Flatten all leading axes, and multiply plain matrices.

Plain matrix products are the easiest form for a profiler or a different backend. reshape copies a
non-contiguous input, and the shape must be restored at the end.
"""

import torch
from torch import nn


class SwiGLU(nn.Module):
    def __init__(self, dim, hidden_dim):
        super().__init__()
        self.dim = dim
        self.w3 = nn.Linear(dim, hidden_dim, bias=False)
        self.w1 = nn.Linear(dim, hidden_dim, bias=False)
        self.w2 = nn.Linear(hidden_dim, dim, bias=False)
        self.act = nn.SiLU()

    def forward(self, x):
        rows = x.reshape(-1, self.dim)
        gate = self.act(torch.mm(rows, self.w1.weight.t()))
        up = torch.mm(rows, self.w3.weight.t())
        out = torch.mm(torch.mul(gate, up), self.w2.weight.t())
        return out.view(x.shape)
