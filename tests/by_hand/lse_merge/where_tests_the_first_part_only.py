# mistakes: other-output-without-keys
"""Explicit tests for parts without keys."""

import torch


def merge_attention(out_a, lse_a, out_b, lse_b):
    highest = torch.where(lse_a >= lse_b, lse_a, lse_b)
    highest = highest.nan_to_num(neginf=0.0)
    mass_a = torch.exp(lse_a - highest)
    mass_b = torch.exp(lse_b - highest)
    mass = mass_a + mass_b
    at_least = torch.where(mass == 0, torch.ones_like(mass), mass)
    kept_a = (mass_a / at_least).unsqueeze(-1) * out_a
    kept_b = (mass_b / at_least).unsqueeze(-1) * out_b
    merged = (kept_a + kept_b).to(out_a.dtype)
    saw_nothing = torch.isinf(lse_a).unsqueeze(-1)
    merged = torch.where(saw_nothing, out_b, merged)  # first wrong
    return merged, highest + mass.log()
