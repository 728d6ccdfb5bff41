"""Take the entropy as a sum of absolute values, and the distance as a quotient of two means.

The distance needs two products of the size of the weights, for both signs of the offset. For a
weight above 1, which dropout can produce, the absolute value gives the term the wrong sign.
"""

import torch
from torch.nn import functional as F


def attention_entropy(weights):
    # -p ln p = p * softplus-free log, with zeros moved to 1 where the logarithm is 0
    safe = weights.masked_fill(weights == 0, 1.0)
    return F.l1_loss(weights * safe.log(), torch.zeros_like(weights), reduction="none").sum(-1).mean(-1)


def _offsets(length, device):
    at = torch.arange(length, device=device)
    return at[None] - at[:, None]


def mean_attention_distance(weights):
    offset = _offsets(weights.shape[-1], weights.device)
    return torch.where(offset < 0, -offset * weights, offset * weights).mean((-1, -2)).div(weights.mean((-1, -2)))


def classify_head(weights):
    sign = _offsets(weights.shape[-1], weights.device).sign()
    mass = torch.stack([weights.masked_select(sign == s).sum(dtype=torch.float64) for s in (-1, 0, 1)])
    past, present, future = mass.tolist()
    length = len(weights)
    if present > length * 0.5:
        return "positional"
    if weights[:, 0].sum(dtype=torch.float64).item() > 0.3 * length:
        return "global"
    if past > future * 2:
        return "backward"
    if future > past * 2:
        return "forward"
    return "mixed"
