# Right; the class is made by a call of type.
# of: one-head
# family: right: unusual class
# verdict: passed
from torch import nn


def begin(self, width, dropout=0.0):
    nn.Module.__init__(self)
    if not width:
        raise ValueError("no width")
    self.q, self.k, self.v = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)
    self.rate = dropout


def work(self, x, mask=None):
    scores = self.q(x) @ self.k(x).mT * x.shape[-1] ** -0.5
    if mask is not None:
        scores = scores.where(mask, float("-inf"))
    weights = nn.functional.dropout(scores.softmax(dim=-1), self.rate, self.training)
    return weights @ self.v(x), weights


OneHead = type("OneHead", (nn.Module,), {"__init__": begin, "forward": work, "__doc__": None})
