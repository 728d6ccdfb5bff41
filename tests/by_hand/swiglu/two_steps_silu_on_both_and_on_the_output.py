# mistakes: silu-on-both, silu-on-the-output
"""A helper layer that always applies SiLU."""

from torch import nn


def active(layer, x):
    y = layer(x)
    return y * y.sigmoid()


class SwiGLU(nn.Module):
    def __init__(self, dim, hidden_dim):
        super().__init__()
        self.gate_proj = nn.Linear(dim, hidden_dim, bias=False)
        self.up_proj = nn.Linear(dim, hidden_dim, bias=False)
        self.down_proj = nn.Linear(hidden_dim, dim, bias=False)

    def forward(self, x):
        gate = active(self.gate_proj, x)
        up = active(self.up_proj, x)  # first wrong
        return active(self.down_proj, gate * up)  # also wrong
