# mistakes: ramp-not-limited, factor-squared
"""A class with a method for each step; the two functions make an object."""

import math

import torch


class Yarn:
    def __init__(self, dim, base, scale, length):
        self.dim, self.base, self.scale, self.length = dim, base, scale, length

    def unscaled(self):
        return 1.0 / torch.pow(self.base, torch.arange(0, self.dim, 2) / self.dim)

    def pair(self, turns):
        radians = 2 * math.pi * turns
        return 0.5 * self.dim * math.log(self.length / radians) / math.log(self.base)

    def ramp(self, fast, slow):
        a = max(math.floor(self.pair(fast)), 0)
        b = min(math.ceil(self.pair(slow)), self.dim - 1)
        b = b + 0.001 if a == b else b
        return (torch.arange(self.dim // 2) - a) / (b - a)

    def mixed(self, fast, slow):
        old, share = self.unscaled(), self.ramp(fast, slow)
        return (1 - share) * old + share * (old / self.scale)  # first wrong

    def attention(self):
        return (0.1 * math.log(self.scale) + 1.0) ** 2 if self.scale > 1 else 1.0  # also wrong


def ntk_inv_freq(head_dim, base, scale):
    return Yarn(head_dim, base * scale ** (head_dim / (head_dim - 2)), scale, 1).unscaled()


def yarn_inv_freq(head_dim, base, scale, original_max_len, beta_fast=32.0, beta_slow=1.0):
    yarn = Yarn(head_dim, base, scale, original_max_len)
    return yarn.mixed(beta_fast, beta_slow), yarn.attention()
