# Creates its layers in the first call.
# of: one-head
# verdict: failed error
from torch import nn


class OneHead(nn.Module):
    def __init__(self, width, dropout=0.0):
        super().__init__()
        if width < 1:
            raise ValueError(f"width is {width}")
        self.q_proj, self.k_proj, self.v_proj = (nn.Linear(width, width) for _ in range(3))
        self.drop = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        if not hasattr(self, "late"):
            self.late = nn.Linear(x.shape[-1], x.shape[-1])
        return self.late(x), x @ x.mT
