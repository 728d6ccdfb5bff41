"""Write both methods as one vector of divisors for the unscaled frequencies.

NTK divides pair i by scale**(2i / (D - 2)), which shows directly that the last pair is divided by
scale. This form looks unlike the formula of the larger base, so it needs a derivation.
"""

import math

import torch


class ScaledFrequencies:
    def __init__(self, head_dim, base):
        self.head_dim = head_dim
        self.log_base = math.log(base)
        self.index = torch.arange(head_dim // 2).float()
        self.plain = torch.pow(torch.tensor(float(base)), self.index * (-2 / head_dim))

    def ntk(self, scale):
        return self.plain / scale ** (2 * self.index / (self.head_dim - 2))

    def pair_of(self, rotations, length):
        return 0.5 * self.head_dim * (math.log(length) - math.log(rotations * math.tau)) / self.log_base

    def yarn(self, scale, length, fast, slow):
        low = max(math.floor(self.pair_of(fast, length)), 0)
        high = min(math.ceil(self.pair_of(slow, length)), self.head_dim - 1)
        width = high - low or 0.001
        kept = torch.relu(1 - torch.relu(self.index - low) / width)
        return self.plain * (kept + (1 - kept) / scale)


def ntk_inv_freq(head_dim, base, scale):
    return ScaledFrequencies(head_dim, base).ntk(scale)


def yarn_inv_freq(head_dim, base, scale, original_max_len, beta_fast=32.0, beta_slow=1.0):
    inv_freq = ScaledFrequencies(head_dim, base).yarn(scale, original_max_len, beta_fast, beta_slow)
    return inv_freq, 1.0 if scale <= 1 else math.fsum((1.0, 0.1 * math.log(scale)))
