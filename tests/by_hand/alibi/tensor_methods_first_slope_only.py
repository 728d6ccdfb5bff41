# mistakes: bias-of-one-slope-for-all-heads
"""Tensor methods only; slopes are indexed once too often."""

import torch


class Slopes:
    def __init__(self, count):
        self.count = count
        self.base = 1
        while self.base * 2 <= count:
            self.base *= 2

    def sequence(self, n):
        return torch.tensor(0.5).pow(torch.arange(1, n + 1).mul(8).div(n))

    def all(self):
        extra = self.sequence(2 * self.base)[::2].narrow(0, 0, self.count - self.base)
        return torch.cat((self.sequence(self.base), extra))


def alibi_slopes(num_heads):
    return Slopes(num_heads).all()


def alibi_attention(q, k, v):
    length = q.size(2)
    grid = torch.arange(length).sub(torch.arange(length).unsqueeze(1))
    slope = alibi_slopes(q.size(1))[0]
    bias = grid.mul(slope)  # first wrong
    scores = q.matmul(k.transpose(2, 3)).div(q.size(3) ** 0.5).add(bias)
    scores = scores.masked_fill(grid.gt(0), float("-inf"))
    return scores.softmax(3).to(v.dtype).matmul(v)
