"""Carry one number for each row, the logarithm of the sum, in place of a maximum and a sum.

logaddexp finds the larger of its arguments itself, so there is no correction to forget. Two
logarithms for each block cost more than one product, and near 1000 the logarithm keeps few digits.
"""

import torch


def log_of_sum(block):
    top = block.max(-1, keepdim=True).values
    return top + torch.log(torch.sum(torch.exp(block - top), -1, keepdim=True))


def online_softmax(blocks):
    rows, log_sum = [], None
    for block in blocks:
        rows.append(block)
        found = log_of_sum(block)
        log_sum = found if log_sum is None else torch.logaddexp(log_sum, found)
    return torch.exp(torch.cat(rows, dim=-1) - log_sum)
