"""Merge two attention results over different keys, exactly, with their log-sum-exps.

    lse = log(exp(lse_a) + exp(lse_b))
    out = exp(lse_a - lse) out_a + exp(lse_b - lse) out_b

exp(lse) is the softmax denominator of a part, so it is the weight of the part. Flash decoding
merges the parts of a long cache like this. Dao, Haziza, Massa and Sizov 2023, "Flash-Decoding for
long-context inference".
"""

import torch


def merge_attention(out_a, lse_a, out_b, lse_b):
    """Return out [..., L, D] and lse [..., L] of the keys of both parts together."""
    if out_a.shape != out_b.shape:
        raise ValueError(f"the outputs differ: {list(out_a.shape)} and {list(out_b.shape)}")
    if lse_a.shape != out_a.shape[:-1] or lse_b.shape != out_b.shape[:-1]:
        raise ValueError(
            f"out is {list(out_a.shape)}, so lse must be {list(out_a.shape[:-1])}; "
            f"the two are {list(lse_a.shape)} and {list(lse_b.shape)}"
        )

    largest = torch.maximum(lse_a, lse_b)  # [..., L]
    # neither part saw a key: -inf - -inf would be NaN, so 0 is subtracted
    shift = largest.masked_fill(largest == float("-inf"), 0.0)  # [..., L]
    weight_a = torch.exp(lse_a - shift)  # [..., L], 0 if lse_a is -inf
    weight_b = torch.exp(lse_b - shift)
    total = weight_a + weight_b  # at least 1, or 0 if neither part saw a key
    lse = shift + torch.log(total)  # log(0) = -inf

    # not 0 / 0 if neither part saw a key
    divisor = total.masked_fill(total == 0, 1.0)  # [..., L]
    share_a = (weight_a / divisor)[..., None]  # [..., L, 1], the same for all features
    share_b = (weight_b / divisor)[..., None]
    out = share_a * out_a + share_b * out_b
    return out.to(out_a.dtype), lse
