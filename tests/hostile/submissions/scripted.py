# Right; the layers and the work are compiled by torch.jit.
# of: one-head
# family: right: TorchScript and numpy
# verdict: passed
import warnings
from typing import Optional

import torch
from torch import nn


class Core(nn.Module):
    def __init__(self, width, dropout=0.0):
        super().__init__()
        self.q_proj, self.k_proj, self.v_proj = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)
        self.drop = nn.Dropout(dropout)

    def forward(self, x: torch.Tensor, mask: Optional[torch.Tensor] = None):
        scores = self.q_proj(x) @ self.k_proj(x).mT / x.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(~mask, float("-inf"))
        weights = self.drop(scores.softmax(-1))
        return weights @ self.v_proj(x), weights


class OneHead(nn.Module):
    def __init__(self, width, dropout=0.0):
        super().__init__()
        if width < 1:
            raise ValueError("no width")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch would rather have everybody export
            self.core = torch.jit.script(Core(width, dropout))

    def forward(self, x, mask=None):
        return self.core(x, mask)
