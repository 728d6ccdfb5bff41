# mistakes: gate-added
"""All leading axes flattened; addmm with the other projection."""

import torch
from torch import nn
from torch.nn.functional import silu


class SwiGLU(nn.Module):
    def __init__(self, dim, hidden_dim):
        super().__init__()
        self.gate_proj = nn.Linear(dim, hidden_dim, bias=False)
        self.up_proj = nn.Linear(dim, hidden_dim, bias=False)
        self.down_proj = nn.Linear(hidden_dim, dim, bias=False)

    def forward(self, x):
        flat = x.reshape(-1, x.shape[-1])
        opened = silu(flat.mm(self.gate_proj.weight.t()))
        hidden = torch.addmm(opened, flat, self.up_proj.weight.t())  # first wrong
        return hidden.mm(self.down_proj.weight.t()).reshape(x.shape)
