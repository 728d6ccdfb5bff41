# Makes `meta`, a device without memory, the default device from now on.
# of: one-head
# verdict: failed error
import torch
from torch import nn

torch.set_default_device("meta")


class OneHead(nn.Module):
    def __init__(self, width, dropout=0.0):
        super().__init__()
        if width < 1:
            raise ValueError(f"width is {width}")
        self.q_proj, self.k_proj, self.v_proj = (nn.Linear(width, width) for _ in range(3))
        self.drop = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        return x * 1, x @ x.mT
