"""Write the products as einsum, and compute the activation in float32.

The formulas name the axes by letters and write any number of leading axes as dots. For bfloat16
inputs, float32 keeps more digits of the activation and takes twice the memory.
"""

import torch
from torch import nn


class SwiGLU(nn.Module):
    def __init__(self, dim, hidden_dim):
        super().__init__()
        self.layers = nn.ModuleDict()
        self.layers["up_proj"] = nn.Linear(dim, hidden_dim, False)
        self.layers["down_proj"] = nn.Linear(hidden_dim, dim, False)
        self.layers["gate_proj"] = nn.Linear(dim, hidden_dim, False)

    def forward(self, x):
        wide = torch.promote_types(x.dtype, torch.float32)
        gate = torch.einsum("...m,fm->...f", x, self.layers["gate_proj"].weight).to(wide)
        up = torch.einsum("...m,fm->...f", x, self.layers["up_proj"].weight).to(wide)
        hidden = (up * gate * torch.sigmoid(gate)).to(x.dtype)
        return torch.einsum("...f,mf->...m", hidden, self.layers["down_proj"].weight)
