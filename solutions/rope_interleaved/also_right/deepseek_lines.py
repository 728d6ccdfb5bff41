"""View pairs as complex numbers with the lines of DeepSeek's inference code.

There is no call to contiguous, so a float32 input is not copied, but an input whose last stride is
not 1 raises an error. float64 inputs are rounded to float32.
"""

import torch


def apply_rotary_emb(x, freqs_cis):
    dtype = x.dtype
    x = torch.view_as_complex(x.float().view(*x.shape[:-1], -1, 2))
    y = torch.view_as_real(x * freqs_cis).flatten(3)
    return y.to(dtype)


def apply_rope_interleaved(x, position_ids, base=10000.0):
    dim = x.size(-1)
    freqs = 1.0 / (base ** (torch.arange(0, dim, 2, dtype=torch.float32, device=x.device) / dim))
    angles = position_ids.unsqueeze(-1) * freqs
    freqs_cis = torch.polar(torch.ones_like(angles), angles)
    return apply_rotary_emb(x, freqs_cis.unsqueeze(-3))
