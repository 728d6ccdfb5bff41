# mistakes: gate-plus-one, residual-added
"""Long names; the gate opens from 1, and the input goes around the module."""

import torch
from torch import nn


class SwiGLU(nn.Module):
    def __init__(self, dim, hidden_dim):
        super().__init__()
        self.gate_proj = nn.Linear(dim, hidden_dim, bias=False)
        self.up_proj = nn.Linear(dim, hidden_dim, bias=False)
        self.down_proj = nn.Linear(hidden_dim, dim, bias=False)

    def forward(self, inputs):
        gate_logits = self.gate_proj(inputs)
        gate_values = torch.nn.functional.silu(gate_logits)
        wide_values = self.up_proj(inputs)
        hidden_values = torch.addcmul(wide_values, gate_values, wide_values)  # first wrong
        narrow_values = self.down_proj(hidden_values)
        return narrow_values + inputs  # also wrong
