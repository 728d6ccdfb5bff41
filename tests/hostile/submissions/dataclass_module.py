# Right; a dataclass that is a module.
# of: one-head
# family: right: unusual class
# verdict: passed
from dataclasses import dataclass

from torch import nn


@dataclass(eq=False)
class OneHead(nn.Module):
    width: int
    dropout: float = 0.0

    def __post_init__(self):
        super().__init__()
        if self.width < 1:
            raise ValueError(f"width is {self.width}")
        self.q_proj, self.k_proj, self.v_proj = (nn.Linear(self.width, self.width) for _ in range(3))

    def forward(self, x, mask=None):
        scores = self.q_proj(x) @ self.k_proj(x).mT / x.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(~mask, float("-inf"))
        weights = nn.functional.dropout(scores.softmax(-1), self.dropout, self.training)
        return weights @ self.v_proj(x), weights
