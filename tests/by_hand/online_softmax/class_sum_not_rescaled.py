# mistakes: sum-not-rescaled
"""A class holds the running values; a method adds a block."""

import torch


class Running:
    def __init__(self):
        self.peak = None
        self.mass = 0.0

    def add(self, x):
        here = x.max(dim=-1, keepdim=True).values
        self.peak = here if self.peak is None else torch.max(self.peak, here)
        self.mass = self.mass + (x - self.peak).exp().sum(-1, keepdim=True)  # first wrong

    def normalise(self, x):
        return (x - self.peak).exp() / self.mass


def online_softmax(blocks):
    running, chunks = Running(), []
    for x in blocks:
        chunks.append(x)
        running.add(x)
    return torch.cat([running.normalise(x) for x in chunks], dim=-1)
