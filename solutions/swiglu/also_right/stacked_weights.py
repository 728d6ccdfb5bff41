"""Join both wide weights for a single product, and split its result.

One large product reads x once and needs one kernel launch instead of two. Every call joins the
weights, which copies 2 M F numbers; libraries store them joined.
"""

import torch
from torch import nn
from torch.nn.functional import linear, silu


class SwiGLU(nn.Module):
    def __init__(self, dim, hidden_dim):
        super().__init__()
        for name, columns, rows in (
            ("gate_proj", dim, hidden_dim),
            ("up_proj", dim, hidden_dim),
            ("down_proj", hidden_dim, dim),
        ):
            self.add_module(name, nn.Linear(columns, rows, bias=False))

    def forward(self, x):
        both = linear(x, torch.cat([self.gate_proj.weight, self.up_proj.weight], dim=0))
        gate, up = both.chunk(2, dim=-1)
        return linear(up.mul(silu(gate)), self.down_proj.weight)
