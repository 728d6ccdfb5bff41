# mistakes: row-instead-of-column
"""A head as an object, its numbers as cached properties."""

from functools import cached_property

import torch


class Head:
    """One head's weights, or those of many."""

    def __init__(self, weights):
        self.weights = weights

    @cached_property
    def positions(self):
        return torch.arange(self.weights.size(-1), device=self.weights.device)

    @cached_property
    def offsets(self):
        """Key minus query."""
        return self.positions.unsqueeze(0) - self.positions.unsqueeze(1)

    @cached_property
    def mass(self):
        return self.weights.sum(-1).sum(-1)

    @cached_property
    def entropy(self):
        logs = self.weights.log().nan_to_num(neginf=0.0)
        return (self.weights * logs).sum(-1).neg().mean(-1)

    @cached_property
    def reach(self):
        return (self.weights * self.offsets.abs()).sum(-1).sum(-1) / self.mass

    @cached_property
    def on_itself(self):
        return self.weights[self.positions, self.positions].mean()

    @cached_property
    def on_first(self):
        return self.weights.select(0, 0).mean()  # first wrong

    def towards(self, sign):
        return self.weights[self.offsets.sign() == sign].sum()


def attention_entropy(weights):
    return Head(weights).entropy


def mean_attention_distance(weights):
    return Head(weights).reach


def classify_head(weights):
    head = Head(weights)
    back, ahead = head.towards(-1), head.towards(1)
    if head.on_itself > 0.5:
        return "positional"
    elif head.on_first > 0.3:
        return "global"
    elif back > 2 * ahead:
        return "backward"
    elif ahead > 2 * back:
        return "forward"
    else:
        return "mixed"
