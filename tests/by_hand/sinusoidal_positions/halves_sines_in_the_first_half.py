# mistakes: sines-in-the-first-half
"""Both functions side by side with cat, as in the ports of tensor2tensor."""

import torch


def sinusoidal_positions(length, dim, base=10000.0):
    half, odd = divmod(dim, 2)
    if odd:
        raise ValueError(f"{dim} is odd")
    inv_freq = 1.0 / base ** (torch.arange(half, dtype=torch.float64) / half)
    phase = torch.outer(torch.arange(length, dtype=torch.float64), inv_freq)
    emb = torch.cat([phase.sin(), phase.cos()], dim=1)  # first wrong
    return emb.float()
