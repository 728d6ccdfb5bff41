# Right; each layer is reached by two names.
# of: one-head
# family: right: unusual class
# verdict: passed
from torch import nn


class OneHead(nn.Module):
    def __init__(self, width, dropout=0.0):
        super().__init__()
        if width < 1:
            raise ValueError(f"width is {width}")
        self.layers = nn.ModuleDict({name: nn.Linear(width, width) for name in ("q_proj", "k_proj", "v_proj")})
        self.q_proj, self.k_proj, self.v_proj = self.layers.values()
        self.drop = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        scores = self.q_proj(x) @ self.k_proj(x).mT / x.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(~mask, float("-inf"))
        weights = self.drop(scores.softmax(-1))
        return weights @ self.v_proj(x), weights
