# mistakes: direction-before-global
# diagnosis: no line
"""Short lines, one result each; a function of its own for the direction."""

import torch


def attention_entropy(weights):
    is_zero = weights == 0
    logarithm = weights.masked_fill(is_zero, 1.0)
    logarithm = logarithm.log()
    product = weights * logarithm
    row = product.sum(-1)
    row = 0 - row
    return row.mean(-1)


def mean_attention_distance(weights):
    length = weights.shape[-1]
    index = torch.arange(length, device=weights.device)
    i = index.view(length, 1)
    j = index.view(1, length)
    steps = (i - j).abs()
    weighted = weights * steps
    weighted = weighted.flatten(-2)
    numerator = weighted.sum(-1)
    denominator = weights.flatten(-2)
    denominator = denominator.sum(-1)
    return numerator / denominator


def direction(weights):
    past = weights.tril(diagonal=-1)
    past = past.sum()
    future = weights.triu(diagonal=1)
    future = future.sum()
    if past > 2 * future:
        return "backward"
    if future > 2 * past:
        return "forward"
    return None


def classify_head(weights):
    diagonal = weights.diagonal()
    diagonal = diagonal.mean()
    column = weights[:, 0]
    column = column.mean()
    if diagonal > 0.5:
        return "positional"
    where_to = direction(weights)
    if where_to is not None:  # first wrong
        return where_to
    if column > 0.3:
        return "global"
    return "mixed"
