# mistakes: gelu-gate
"""A module for the activation, chosen by name."""

from torch import nn

ACTIVATIONS = {"silu": nn.SiLU, "gelu": nn.GELU}


class SwiGLU(nn.Module):
    def __init__(self, dim, hidden_dim):
        super().__init__()
        self.act = ACTIVATIONS["gelu"]()
        self.gate_proj = nn.Linear(dim, hidden_dim, bias=False)
        self.up_proj = nn.Linear(dim, hidden_dim, bias=False)
        self.down_proj = nn.Linear(hidden_dim, dim, bias=False)

    def forward(self, x):
        gate = self.act(self.gate_proj(x))  # first wrong
        return self.down_proj(gate.mul(self.up_proj(x)))
