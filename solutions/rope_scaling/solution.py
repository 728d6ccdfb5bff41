"""Frequencies of RoPE for a context that is `scale` times as long as in training.

    NTK-aware:  f_i = (base * scale**(D/(D-2)))**(-2i/D)
    YaRN:       f_i * (1 - ramp_i) + f_i / scale * ramp_i    with f_i = base**(-2i/D)

The ramp is 0 for fast pairs, which keep their frequency, and 1 for slow pairs, which are
interpolated. Peng et al. 2023, "YaRN: Efficient Context Window Extension of Large Language Models";
the NTK-aware base is bloc97's, described there.
"""

import math

import torch


def rope_frequencies(head_dim, base):
    """D head_dim -> base**(-2i/D) for the pairs i < D/2, [D/2]."""
    exponents = torch.arange(0, head_dim, 2) / head_dim  # [D/2], 2i / D
    return base**-exponents


def ntk_inv_freq(head_dim, base, scale):
    """D head_dim, even, at least 4 -> inv_freq [D/2]."""
    if head_dim % 2 or head_dim < 4:
        raise ValueError(f"head_dim must be even and at least 4, not {head_dim}")
    # the slowest pair has the exponent -(D-2)/D, so it becomes exactly `scale` times slower
    exponent = head_dim / (head_dim - 2)
    new_base = base * scale**exponent
    return rope_frequencies(head_dim, new_base)


def yarn_inv_freq(head_dim, base, scale, original_max_len, beta_fast=32.0, beta_slow=1.0):
    """D head_dim, even, at least 4 -> inv_freq [D/2], attention factor."""
    if head_dim % 2 or head_dim < 4:
        raise ValueError(f"head_dim must be even and at least 4, not {head_dim}")
    unscaled = rope_frequencies(head_dim, base)  # [D/2]
    interpolated = unscaled / scale  # [D/2], as if positions were divided by scale

    # the ramp begins at the pair with beta_fast rotations and ends at the pair with beta_slow
    first = pair_with_rotations(beta_fast, head_dim, base, original_max_len)
    last = pair_with_rotations(beta_slow, head_dim, base, original_max_len)
    low = max(math.floor(first), 0)
    high = min(math.ceil(last), head_dim - 1)
    if low == high:
        high = high + 0.001  # a step instead of 0 / 0

    pairs = torch.arange(head_dim // 2)  # [D/2]
    slope = (pairs - low) / (high - low)  # [D/2]
    ramp = slope.clamp(0, 1)  # [D/2]
    inv_freq = unscaled * (1 - ramp) + interpolated * ramp  # [D/2]

    # cos and sin are multiplied by this factor, so scores grow by its square
    factor = 0.1 * math.log(scale) + 1.0 if scale > 1 else 1.0
    return inv_freq, factor


def pair_with_rotations(rotations, head_dim, base, original_max_len):
    """Return the pair i, with a fraction, whose angle at original_max_len is 2 pi rotations.

    original_max_len * base**(-2i/D) = 2 pi rotations, solved for i.
    """
    ratio = original_max_len / (2 * math.pi * rotations)
    return head_dim * math.log(ratio) / (2 * math.log(base))
