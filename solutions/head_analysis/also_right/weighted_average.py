"""Take the entropy from kl_div, and the distance as a quotient of two means.

kl_div knows that 0 ln 0 is 0, but it needs a tensor of zeros of the size of the weights, and a
reader must look up its arguments. The distance needs two products, for both signs of the offset.
"""

import torch
from torch.nn import functional as F


def attention_entropy(weights):
    # kl_div(x, p) is p * (ln p - x)
    terms = F.kl_div(torch.zeros_like(weights), weights, reduction="none")
    return -terms.sum(-1).mean(-1)


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
