"""Softmax with the largest entry subtracted, so that no exponential overflows.

    softmax(x)_i = exp(x_i - m) / sum_j exp(x_j - m)    with m = max_j x_j

The factor exp(-m) cancels, so the result does not change. The largest exponent is 0: no term is
larger than 1, and the sum is at least 1.
"""

import torch


def softmax(x, dim=-1):
    """Return the probabilities along the axis `dim`; zeros for a row of -inf only."""
    # one maximum for each row: a maximum of the whole tensor lets the other rows underflow
    largest = x.amax(dim=dim, keepdim=True)
    # -inf - -inf is NaN, so a row of -inf only is shifted by 0
    shift = torch.where(largest == float("-inf"), 0.0, largest)
    exponentials = (x - shift).exp()
    total = exponentials.sum(dim=dim, keepdim=True)
    # the total is at least 1, except in a row of -inf only: there 0 / 0 would be NaN
    divisor = torch.where(total == 0, 1.0, total)
    return exponentials / divisor
