# mistakes: residual-added
"""The activation in float32; the sum with x at the end, as in a block."""

import torch
from torch import nn


class SwiGLU(nn.Module):
    def __init__(self, dim, hidden_dim):
        super().__init__()
        self.gate_proj = nn.Linear(dim, hidden_dim, bias=False)
        self.up_proj = nn.Linear(dim, hidden_dim, bias=False)
        self.down_proj = nn.Linear(hidden_dim, dim, bias=False)

    def forward(self, x):
        wide = torch.promote_types(x.dtype, torch.float32)
        gate = self.gate_proj(x).to(wide)
        gate = gate * torch.sigmoid(gate)
        hidden = gate * self.up_proj(x).to(wide)
        return torch.add(self.down_proj(hidden.to(x.dtype)), x)  # first wrong
