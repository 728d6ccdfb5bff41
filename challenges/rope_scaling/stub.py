import torch


def ntk_inv_freq(head_dim, base, scale):
    """Return the frequencies of RoPE with a larger base, for a context `scale` times as long.

    D head_dim, even, at least 4. The new base is base * scale**(D / (D - 2)).
    -> float32 [D/2], frequency i is (new base)**(-2i/D).
    """
    # 1. Compute the new base. -> float
    # 2. Compute the exponents -2i/D of all pairs. -> [D/2]
    # 3. Raise the new base to these exponents. -> [D/2]
    raise NotImplementedError


def yarn_inv_freq(head_dim, base, scale, original_max_len, beta_fast=32.0, beta_slow=1.0):
    """Return YaRN's frequencies: fast pairs stay, slow pairs are divided by `scale`.

    D head_dim, even, at least 4. dim(r) = D ln(original_max_len / (2 pi r)) / (2 ln base) is the
    pair that makes r rotations in original_max_len tokens. The ramp rises from 0 at
    low = max(floor(dim(beta_fast)), 0) to 1 at high = min(ceil(dim(beta_slow)), D - 1).
    -> (inv_freq, attention factor): float32 [D/2], and 0.1 ln(scale) + 1 as a float, which is 1.0
    for scale <= 1.
    """
    # 1. Compute the frequencies without scaling, base**(-2i/D). -> [D/2]
    # 2. Divide them by scale, as if positions were divided. -> [D/2]
    # 3. Find the pair at which the ramp begins, rounded down, at least 0. -> low
    # 4. Find the pair at which the ramp ends, rounded up, at most D - 1. -> high
    # 5. If both are equal, add 0.001 to high, so that nothing is divided by 0. -> high
    # 6. Make the ramp (i - low) / (high - low), limited to 0 .. 1. -> [D/2]
    # 7. Mix: the ramp is the share of the divided frequencies. -> [D/2]
    # 8. Compute the attention factor, a float. -> float
    # 9. Return the frequencies and the factor. -> tuple
    raise NotImplementedError
