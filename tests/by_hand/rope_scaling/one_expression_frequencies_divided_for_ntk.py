# mistakes: ntk-frequencies-divided
"""As few lines as possible, with lerp."""

import math
import torch


def ntk_inv_freq(head_dim, base, scale):
    f = base ** (-torch.arange(0, head_dim, 2) / head_dim)
    return f / scale  # first wrong


def yarn_inv_freq(head_dim, base, scale, original_max_len, beta_fast=32.0, beta_slow=1.0):
    lo, hi = (head_dim * math.log(original_max_len / (math.tau * r)) / math.log(base) / 2 for r in (beta_fast, beta_slow))
    lo, hi = max(math.floor(lo), 0), min(math.ceil(hi), head_dim - 1)
    f = base ** (-torch.arange(0, head_dim, 2) / head_dim)
    t = ((torch.arange(head_dim // 2) - lo) / (hi - lo or 0.001)).clamp(0, 1)
    return torch.lerp(f, f / scale, t), 0.1 * math.log(max(scale, 1)) + 1
