"""View pairs as complex numbers with the lines of Meta's Llama.

A float32 input is not copied, but its last stride must be 1, or view_as_complex raises an error.
float64 inputs are rounded to float32.
"""

import torch


def precompute_freqs_cis(dim, positions, theta):
    freqs = 1.0 / (theta ** (torch.arange(0, dim, 2, device=positions.device)[: dim // 2].float() / dim))
    angles = positions.float()[..., None] * freqs
    return torch.polar(torch.ones_like(angles), angles)


def apply_rope_interleaved(x, position_ids, base=10000.0):
    freqs_cis = precompute_freqs_cis(x.shape[-1], position_ids, base)
    if position_ids.ndim == 2:
        freqs_cis = freqs_cis[:, None]
    x_ = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    x_out = torch.view_as_real(x_ * freqs_cis).flatten(3)
    return x_out.type_as(x)
