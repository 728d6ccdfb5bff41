# mistakes: silu-missing
"""A nested function calls a layer by its name; the bilinear form of GLU."""

from torch import nn


class SwiGLU(nn.Module):
    def __init__(self, dim, hidden_dim):
        super().__init__()
        self.parts = nn.ModuleDict(
            {
                "w1": nn.Linear(dim, hidden_dim, bias=False),
                "w2": nn.Linear(hidden_dim, dim, bias=False),
                "w3": nn.Linear(dim, hidden_dim, bias=False),
            }
        )

    def forward(self, x):
        def path(name):
            return self.parts[name](x)

        left, right = path("w1"), path("w3")
        joined = right * left  # first wrong
        return self.parts["w2"](joined)
