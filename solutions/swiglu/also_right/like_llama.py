"""Use the names w1, w2 and w3 of Llama's own code, and write SiLU out.

The names say nothing about the roles, so a reader must know that w1 is the gate. SiLU in two
operations makes one more tensor of F numbers for each token than F.silu.
"""

import torch
import torch.nn as nn


class SwiGLU(nn.Module):
    def __init__(self, dim: int, hidden_dim: int):
        super().__init__()
        self.w1 = nn.Linear(dim, hidden_dim, bias=False)
        self.w2 = nn.Linear(hidden_dim, dim, bias=False)
        self.w3 = nn.Linear(dim, hidden_dim, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        gate = self.w1(x)
        return self.w2(gate * torch.sigmoid(gate) * self.w3(x))
