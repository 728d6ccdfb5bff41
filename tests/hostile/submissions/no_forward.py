# Defines no forward.
# of: one-head
# family: defines something else
# verdict: failed error
# says: forward
from torch import nn


class OneHead(nn.Module):
    def __init__(self, width, dropout=0.0):
        super().__init__()
        if width < 1:
            raise ValueError(f"width is {width}")
        self.q_proj, self.k_proj, self.v_proj = (nn.Linear(width, width) for _ in range(3))
        self.drop = nn.Dropout(dropout)

    def call(self, x, mask=None):
        return x, x
