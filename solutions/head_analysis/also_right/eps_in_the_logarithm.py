"""Add a small eps inside the logarithm and to the total, and take the numbers out with .item().

An entropy changes by at most eps for each key, a weight of 0 gets a finite gradient that depends on
eps, and the distance of an all-zero head is 0 instead of NaN. Each .item() waits for the GPU.
"""

import torch


def attention_entropy(weights: torch.Tensor) -> torch.Tensor:
    eps = 1e-9
    H = -(weights * torch.log(weights + eps)).sum(dim=-1)
    return H.mean(dim=-1)


def mean_attention_distance(weights: torch.Tensor) -> torch.Tensor:
    n = weights.size(-1)
    idx = torch.arange(n, device=weights.device)
    dist = (idx.unsqueeze(0) - idx.unsqueeze(1)).abs().to(weights.dtype)
    return (weights * dist).flatten(-2).sum(-1) / (weights.flatten(-2).sum(-1) + 1e-9)


def classify_head(weights: torch.Tensor) -> str:
    w = weights.detach().float()
    n = w.size(0)
    if torch.trace(w).item() / n > 0.5:
        return "positional"
    if w[:, 0].mean().item() > 0.3:
        return "global"
    lower = torch.tril(w, diagonal=-1).sum().item()
    upper = torch.triu(w, diagonal=1).sum().item()
    if lower > 2 * upper:
        return "backward"
    elif upper > 2 * lower:
        return "forward"
    else:
        return "mixed"
