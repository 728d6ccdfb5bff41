# Defines everything that is needed, under another name.
# of: one-head
# family: defines something else
# verdict: failed
# says: Rename OneHeaded
from torch import nn


class OneHeaded(nn.Module):
    def __init__(self, width, dropout=0.0):
        super().__init__()
        if width < 1:
            raise ValueError(f"width is {width}")
        self.q_proj, self.k_proj, self.v_proj = (nn.Linear(width, width) for _ in range(3))
        self.drop = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        scores = self.q_proj(x) @ self.k_proj(x).mT / x.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(~mask, float("-inf"))
        weights = self.drop(scores.softmax(-1))
        return weights @ self.v_proj(x), weights
