"""Compute every frequency as a Python number, in one loop over the pairs, and make a tensor last.

Python numbers are float64, so only the last step rounds. A loop over 64 pairs is cheap here:
the frequencies are made once for a model.
"""

from math import ceil, floor, log, pi

from torch import FloatTensor


def ntk_inv_freq(head_dim, base, scale):
    stretched = base * scale ** (head_dim / (head_dim - 2))
    return FloatTensor([stretched ** (-2 * i / head_dim) for i in range(head_dim // 2)])


def yarn_inv_freq(head_dim, base, scale, original_max_len, beta_fast=32.0, beta_slow=1.0):
    def dim(r):
        return head_dim * log(original_max_len / (2 * pi * r)) / (2 * log(base))

    start = floor(dim(beta_fast))
    if start < 0:
        start = 0
    end = ceil(dim(beta_slow))
    if end > head_dim - 1:
        end = head_dim - 1
    result = []
    for i in range(head_dim // 2):
        frequency = base ** (-2 * i / head_dim)
        if start == end:
            share = (i - start) / 0.001
        else:
            share = (i - start) / (end - start)
        if share > 1:
            share = 1
        if share < 0:
            share = 0
        result.append(frequency - share * (frequency - frequency / scale))
    return FloatTensor(result), max(1.0, 0.1 * log(scale) + 1)
