# mistakes: entropy-logarithm-detached
"""Small modules put together, the functions call them; conditions as a row of booleans."""

import torch
from torch import nn


class Information(nn.Module):
    """-ln p, and something finite at 0."""

    def forward(self, p):
        least = torch.finfo(p.dtype).tiny
        return -p.detach().clamp(min=least).log()  # first wrong


class Entropy(nn.Module):
    def __init__(self):
        super().__init__()
        self.information = Information()

    def forward(self, p):
        return (p * self.information(p)).sum(dim=-1)


class Steps(nn.Module):
    """[L, L], how many steps lie between query and key."""

    def forward(self, p):
        at = torch.arange(p.shape[-1], device=p.device).float()
        apart = nn.functional.pairwise_distance(at[:, None, None], at[None, :, None], p=1, eps=0.0)
        return apart.to(p.dtype)


class WeightedMean(nn.Module):
    def forward(self, p, values):
        return torch.sum(p * values, dim=(-2, -1)) / torch.sum(p, dim=(-2, -1))


entropy, steps, weighted_mean = Entropy(), Steps(), WeightedMean()


def attention_entropy(weights):
    return entropy(weights).mean(dim=-1)


def mean_attention_distance(weights):
    return weighted_mean(weights, steps(weights))


def classify_head(weights):
    w = weights.detach().to(torch.float64)
    below, above = w.tril(-1).sum(), w.triu(1).sum()
    holds = [torch.diag(w).mean() > 0.5, w.T[0].mean() > 0.3, below > above * 2, above > below * 2, True]
    kinds = ["positional", "global", "backward", "forward", "mixed"]
    return kinds[[bool(one) for one in holds].index(True)]
