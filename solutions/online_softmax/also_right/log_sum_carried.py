"""Carry one number for each row, the logarithm of the sum, instead of a maximum and a sum.

logaddexp finds the larger of its arguments itself, so there is no correction to forget. Two
logarithms for each block cost more than one product, and near 1000 the logarithm keeps few digits.
"""

import torch


def log_of_sum(block):
    """Return a finite number, below any other, for a row of -inf only."""
    top = block.max(-1, keepdim=True).values.clamp(min=torch.finfo(block.dtype).min)
    return top + torch.log(torch.sum(torch.exp(block - top), -1, keepdim=True).clamp(min=1e-30))


def online_softmax(blocks):
    rows, log_sum = [], None
    for block in blocks:
        dtype = block.dtype
        block = block.to(torch.promote_types(dtype, torch.float32))
        rows.append(block)
        found = log_of_sum(block)
        log_sum = found if log_sum is None else torch.logaddexp(log_sum, found)
    return torch.exp(torch.cat(rows, dim=-1) - log_sum).to(dtype)
