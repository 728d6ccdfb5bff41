"""Follow the code that DeepSeek and Hugging Face publish: a correction range and a ramp mask.

The small helpers are easy to compare with a model's own code. The names are long, and the mask is
the share of the unscaled frequencies, so it is 1 minus the ramp.
"""

import math

import torch


def find_correction_dim(num_rotations, dim, base=10000, max_position_embeddings=2048):
    return (dim * math.log(max_position_embeddings / (num_rotations * 2 * math.pi))) / (2 * math.log(base))


def find_correction_range(low_rot, high_rot, dim, base=10000, max_position_embeddings=2048):
    low = math.floor(find_correction_dim(low_rot, dim, base, max_position_embeddings))
    high = math.ceil(find_correction_dim(high_rot, dim, base, max_position_embeddings))
    return max(low, 0), min(high, dim - 1)


def linear_ramp_mask(min, max, dim):
    if min == max:
        max += 0.001
    linear_func = (torch.arange(dim, dtype=torch.float32) - min) / (max - min)
    return torch.clamp(linear_func, 0, 1)


def get_mscale(scale=1.0, mscale=1.0):
    if scale <= 1:
        return 1.0
    return 0.1 * mscale * math.log(scale) + 1.0


def ntk_inv_freq(head_dim, base, scale):
    base = base * scale ** (head_dim / (head_dim - 2))
    return 1.0 / (base ** (torch.arange(0, head_dim, 2).float() / head_dim))


def yarn_inv_freq(head_dim, base, scale, original_max_len, beta_fast=32.0, beta_slow=1.0):
    pos_freqs = base ** (torch.arange(0, head_dim, 2).float() / head_dim)
    freq_extra = 1.0 / pos_freqs
    freq_inter = 1.0 / (scale * pos_freqs)
    low, high = find_correction_range(beta_fast, beta_slow, head_dim, base, original_max_len)
    inv_freq_mask = 1 - linear_ramp_mask(low, high, head_dim // 2).float()
    inv_freq = freq_inter * (1 - inv_freq_mask) + freq_extra * inv_freq_mask
    return inv_freq, float(get_mscale(scale))
