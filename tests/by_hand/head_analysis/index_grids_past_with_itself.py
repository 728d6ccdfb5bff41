# mistakes: below-with-the-diagonal
"""Grids of row and column numbers, compared."""

import torch
from torch import Tensor


def grids(weights: Tensor) -> tuple[Tensor, Tensor]:
    rows, cols = weights.shape[-2:]
    return torch.meshgrid(torch.arange(rows, device=weights.device), torch.arange(cols, device=weights.device), indexing="ij")


def attention_entropy(weights: Tensor) -> Tensor:
    tiny = torch.finfo(weights.dtype).tiny
    nats = -(weights * torch.log(weights.clamp(min=tiny)))
    return nats.sum((-1, -2)) / weights.shape[-2]


def mean_attention_distance(weights: Tensor) -> Tensor:
    row, col = grids(weights)
    back = (row - col).clamp(min=0)
    ahead = (col - row).clamp(min=0)
    return ((weights * back).sum((-1, -2)) + (weights * ahead).sum((-1, -2))) / weights.sum((-1, -2))


def classify_head(weights: Tensor) -> str:
    row, col = grids(weights)
    zero = weights.new_zeros(())
    past = torch.where(col <= row, weights, zero).sum()  # first wrong
    future = torch.where(col > row, weights, zero).sum()
    if weights[row == col].mean() > 0.5:
        return "positional"
    if weights[col == 0].mean() > 0.3:
        return "global"
    if past / 2 > future:
        return "backward"
    if future / 2 > past:
        return "forward"
    return "mixed"
