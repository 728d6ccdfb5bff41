# mistakes: distance-changes-the-weights
"""Matrices flattened to vectors, and sums as products with a vector."""

import math

import torch


def attention_entropy(weights):
    lq, lk = weights.shape[-2:]
    terms = torch.special.xlogy(weights, weights).flatten(-2)
    return terms @ terms.new_full((lq * lk,), -1.0) / lq


def mean_attention_distance(weights):
    n = weights.shape[-1]
    t = torch.arange(n * n, device=weights.device)
    gaps = (t // n - t % n).abs().to(weights.dtype)
    weights /= weights.sum((-2, -1), keepdim=True)  # first wrong
    return weights.flatten(-2) @ gaps


def classify_head(weights):
    n = len(weights)
    flat = weights.reshape(-1)
    t = torch.arange(n * n, device=weights.device)
    side = (t % n - t // n).sign()
    diagonal = math.fsum(flat[:: n + 1].tolist())
    column = math.fsum(flat[::n].tolist())
    behind, ahead = (flat * (side < 0)).sum().item(), (flat * (side > 0)).sum().item()
    if diagonal > n / 2:
        return "positional"
    if column / n > 0.3:
        return "global"
    if behind > 2 * ahead:
        return "backward"
    return "forward" if ahead > 2 * behind else "mixed"
