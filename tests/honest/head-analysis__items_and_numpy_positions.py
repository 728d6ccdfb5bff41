"""Scalars taken with item(); numpy for the distances; Counter-like dict of rules; log of clamp; early returns."""
import numpy as np
import torch


def attention_entropy(weights):
    logs = torch.log(weights.clamp_min(torch.finfo(weights.dtype).tiny))
    return -(weights * logs).sum(-1).mean(-1)


def mean_attention_distance(weights):
    n = weights.shape[-1]
    dist = torch.from_numpy(np.abs(np.subtract.outer(np.arange(n), np.arange(n)))).to(weights)
    return torch.einsum("...ij,ij->...", weights, dist) / torch.einsum("...ij->...", weights)


def classify_head(weights: torch.Tensor) -> str:
    below = torch.tril(weights, diagonal=-1).sum().item()
    above = torch.triu(weights, diagonal=1).sum().item()
    rules = {
        "positional": torch.diagonal(weights).mean().item() > 0.5,
        "global": weights[:, 0].mean().item() > 0.3,
        "backward": below > above * 2,
        "forward": above > below * 2,
    }
    return next((name for name, holds in rules.items() if holds), "mixed")
