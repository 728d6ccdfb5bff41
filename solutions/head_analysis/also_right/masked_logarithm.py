"""Replace weights of 0 by 1 before the logarithm, compute in float32, and use numpy for the kinds.

The float32 copy is more accurate for bfloat16 and less accurate for float64, and a weight of 0 gets
the gradient 0 instead of NaN. numpy needs a copy of the weights in the memory of the CPU.
"""

import numpy as np
import torch


def attention_entropy(weights):
    p = weights.float()
    log_p = torch.where(p > 0, p, torch.ones_like(p)).log()
    return torch.mean(torch.sum(-p * log_p, -1), -1).type_as(weights)


def mean_attention_distance(weights):
    p = weights.float()
    length = p.shape[-1]
    rows = torch.arange(length, device=p.device).repeat_interleave(length)
    cols = torch.arange(length, device=p.device).repeat(length)
    p = p.reshape(*p.shape[:-2], -1)
    return (p @ (rows - cols).abs().float() / p.sum(-1)).type_as(weights)


def classify_head(weights):
    w = weights.detach().cpu().double().numpy()
    if np.diag(w).mean() > 0.5:
        return "positional"
    if w[:, 0].mean() > 0.3:
        return "global"
    below, above = np.tril(w, -1).sum(), np.triu(w, 1).sum()
    return "backward" if below > 2 * above else "forward" if above > 2 * below else "mixed"
