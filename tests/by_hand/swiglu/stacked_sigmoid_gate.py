# mistakes: sigmoid-gate
"""One product with both weights; the gate as in the first GLU."""

import torch
from torch import nn


class SwiGLU(nn.Module):
    def __init__(self, dim, hidden_dim):
        super().__init__()
        self.gate_proj = nn.Linear(dim, hidden_dim, bias=False)
        self.up_proj = nn.Linear(dim, hidden_dim, bias=False)
        self.down_proj = nn.Linear(hidden_dim, dim, bias=False)

    def forward(self, x):
        weight = torch.cat((self.up_proj.weight, self.gate_proj.weight))
        both = x @ weight.T
        up, gate = both.chunk(2, dim=-1)
        hidden = torch.sigmoid(gate).mul(up)  # first wrong
        return hidden @ self.down_proj.weight.T
