"""SwiGLU, the MLP of Llama: a wide projection of x, gated by SiLU of a second projection.

    out = down_proj(silu(gate_proj(x)) * up_proj(x))        with silu(y) = y * sigmoid(y)

Shazeer 2020, "GLU Variants Improve Transformer".
"""

from torch import nn
from torch.nn import functional as F


class SwiGLU(nn.Module):
    """M dim, F hidden_dim; x has any number of leading axes."""

    def __init__(self, dim, hidden_dim):
        super().__init__()
        self.gate_proj = nn.Linear(dim, hidden_dim, bias=False)
        self.up_proj = nn.Linear(dim, hidden_dim, bias=False)
        self.down_proj = nn.Linear(hidden_dim, dim, bias=False)

    def forward(self, x):
        """x [..., M] -> [..., M]."""
        gate = self.gate_proj(x)  # [..., F]
        activated = F.silu(gate)
        up = self.up_proj(x)  # [..., F]
        hidden = activated * up
        return self.down_proj(hidden)
