# Right; a metaclass wraps every method of the class.
# of: one-head
# family: right: unusual class
# verdict: passed
import functools

from torch import nn


class Wrapping(type):
    def __new__(meta, name, bases, members):
        for key, member in list(members.items()):
            if callable(member) and key == "forward":
                members[key] = functools.wraps(member)(lambda *args, member=member, **named: member(*args, **named))
        return super().__new__(meta, name, bases, members)

    def __repr__(cls):
        raise RuntimeError("not to be shown")


class OneHead(nn.Module, metaclass=Wrapping):
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
