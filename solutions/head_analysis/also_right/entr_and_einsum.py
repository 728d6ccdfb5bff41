"""Use torch.special.entr for the entropy, einsum for the distance, and a table of all conditions.

einsum needs no tensor of the products, but all conditions are computed even if the first holds.
cdist takes no integers, so the positions are float32, whatever the dtype of the weights.
"""

import torch
from torch import Tensor


def attention_entropy(weights: Tensor) -> Tensor:
    return torch.special.entr(weights).sum(-1).mean(-1)


def mean_attention_distance(weights: Tensor) -> Tensor:
    steps = torch.arange(weights.shape[-1], dtype=torch.float32, device=weights.device)[:, None]
    apart = torch.cdist(steps, steps, p=1).to(weights)
    return torch.einsum("...ij,ij->...", weights, apart) / torch.einsum("...ij->...", weights)


def classify_head(weights: Tensor) -> str:
    i, j = torch.meshgrid(*[torch.arange(n, device=weights.device) for n in weights.shape], indexing="ij")
    w = weights.to(torch.float64)
    past, future = (w * (j < i)).sum(), (w * (j > i)).sum()
    found = {
        "positional": w[i == j].mean() > 0.5,
        "global": w[..., :1].mean() > 0.3,
        "backward": past > 2 * future,
        "forward": future > 2 * past,
    }
    return next((kind for kind, holds in found.items() if holds), "mixed")
