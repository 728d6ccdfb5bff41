import torch
from torch import nn


class RMSNorm(nn.Module):
    """Divide every row by the root of the mean of its squares, then scale its features.

    The parameter `weight` [dim] is 1 at first. There is no bias.
    """

    def __init__(self, dim, eps=1e-6):
        super().__init__()
        # 1. Store eps. -> float
        # 2. Make the parameter weight, with ones. -> [dim]
        raise NotImplementedError

    def forward(self, x):
        """Return the normalised rows [..., dim] of x [..., dim], in the dtype of x."""
        # 1. Cast x to float32, unless its dtype is finer. -> [..., dim]
        # 2. Take the mean of the squares of each row, and keep the axis. -> [..., 1]
        # 3. Divide by the root of this mean plus eps. -> [..., dim]
        # 4. Multiply by the weight. -> [..., dim]
        # 5. Return the result in the dtype of x. -> [..., dim]
        raise NotImplementedError
