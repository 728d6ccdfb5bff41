"""Write the measures for a single head, map them with vmap, and compile the tests of the kinds.

nansum removes the NaN of 0 ln 0, but it also hides a NaN in the weights. The triangles are
differences of sums, so a rounding error may decide a head that lies exactly on a limit.
"""

from enum import Enum

import torch


def _entropy(p):
    return -torch.nansum(p * p.log(), dim=-1).mean()


def _distance(p):
    n = p.shape[-1]
    ramp = torch.arange(n, device=p.device)
    near = torch.stack([ramp.expand(n, n), ramp.expand(n, n).mT])
    return (p * (near.amax(0) - near.amin(0))).sum() / p.sum()


def _each_head(measure, weights):
    flat = weights.reshape(-1, *weights.shape[-2:])
    return torch.vmap(measure)(flat).reshape(weights.shape[:-2])


def attention_entropy(weights):
    return _each_head(_entropy, weights)


def mean_attention_distance(weights):
    return _each_head(_distance, weights)


class Kind(str, Enum):
    POSITIONAL = "positional"
    GLOBAL = "global"
    BACKWARD = "backward"
    FORWARD = "forward"
    MIXED = "mixed"


@torch.jit.script
def _conditions(w: torch.Tensor) -> torch.Tensor:
    diagonal = torch.diagonal(w)
    lower = w.tril().sum() - diagonal.sum()
    upper = w.triu().sum() - diagonal.sum()
    return torch.stack([diagonal.mean() > 0.5, w.select(1, 0).mean() > 0.3, lower > 2 * upper, upper > 2 * lower, torch.ones([], dtype=torch.bool)])


def classify_head(weights):
    return list(Kind)[int(_conditions(weights.double()).int().argmax())]
