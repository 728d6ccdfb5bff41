from torch import nn
from torch.nn import functional as F


class SwiGLU(nn.Module):
    """The MLP of Llama: down_proj(silu(gate_proj(x)) * up_proj(x)).

    M dim, F hidden_dim.
    Layers without bias: gate_proj and up_proj Linear(M, F), down_proj Linear(F, M).
    """

    def __init__(self, dim, hidden_dim):
        super().__init__()
        # 1. Make the two wide projections without a bias. -> Linear(M, F)
        # 2. Make the projection back without a bias. -> Linear(F, M)
        raise NotImplementedError

    def forward(self, x):
        """Return the output [..., M] of x [..., M]; x has any number of leading axes."""
        # 1. Compute the gate, and apply SiLU to it. -> [..., F]
        # 2. Compute the other wide projection of x. -> [..., F]
        # 3. Multiply the two. -> [..., F]
        # 4. Narrow the product. -> [..., M]
        raise NotImplementedError
