"""Fill three zones of the result: kept pairs, pairs on the ramp, divided pairs.

The code shows the zones of YaRN, and the ramp needs no limits. The indices of the zones must be
limited to the pairs that exist, which is one more place for an error.
"""

import math

import torch


def plain(head_dim, base):
    inv_freq = torch.empty(head_dim // 2)
    inv_freq[0] = 1.0
    inv_freq[1:] = base ** (-2.0 / head_dim)
    return inv_freq.cumprod(0)


def ntk_inv_freq(head_dim, base, scale):
    return plain(head_dim, base * math.pow(scale, head_dim / (head_dim - 2)))


def yarn_inv_freq(head_dim, base, scale, original_max_len, beta_fast=32.0, beta_slow=1.0):
    pairs = head_dim // 2
    radians_to_pair = head_dim / 2 / math.log(base)
    low = max(0, math.floor(radians_to_pair * math.log(original_max_len / (math.tau * beta_fast))))
    high = min(head_dim - 1, math.ceil(radians_to_pair * math.log(original_max_len / (math.tau * beta_slow))))
    inv_freq = plain(head_dim, base)
    if low < high:
        a, b = min(low + 1, pairs), min(high, pairs)
        weight = torch.arange(a, b) - low
        inv_freq[a:b] *= 1 - weight / (high - low) * (1 - 1 / scale)
        inv_freq[b:] /= scale
    else:
        inv_freq[min(low + 1, pairs) :] /= scale
    attention_factor = 1.0
    if scale > 1:
        attention_factor += math.log(scale) / 10
    return inv_freq, attention_factor
