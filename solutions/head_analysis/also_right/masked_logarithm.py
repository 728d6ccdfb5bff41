"""float32 inside and cast back; the logarithm only where there is a weight; numpy for the kinds."""

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
