# mistakes: distance-mean-of-rows, directions-exchanged
# diagnosis: line elsewhere
"""Rows as distributions over offsets; for the kinds all weights are gathered by their offset."""

import torch


def positions(weights):
    return torch.arange(weights.shape[-1], device=weights.device)


def row_sums(weights):
    return weights.sum(dim=-1, keepdim=True)


def attention_entropy(weights):
    logs = torch.log(weights).clamp(min=-200.0)
    rows = row_sums(-weights * logs).squeeze(-1)
    return torch.mean(rows, -1)


def mean_attention_distance(weights):
    at = positions(weights)
    gap = (at.unsqueeze(1) - at).abs().to(weights.dtype)
    shares = weights / row_sums(weights).clamp(min=1e-9)  # first wrong
    return row_sums(shares * gap).squeeze(-1).mean(-1)


def classify_head(weights):
    n = weights.shape[0]
    at = positions(weights)
    bucket = at.unsqueeze(1) - at + n - 1
    mass = torch.zeros(2 * n - 1, dtype=torch.float64, device=weights.device)
    mass = mass.index_add(0, bucket.flatten(), weights.double().flatten())
    past, present, future = mass[: n - 1].sum(), mass[n - 1], mass[n:].sum()  # also wrong
    if present / n > 0.5:
        return "positional"
    if weights[..., 0].double().mean() > 0.3:
        return "global"
    if past > 2 * future:
        return "backward"
    if future > 2 * past:
        return "forward"
    return "mixed"
