"""Online softmax: the largest entry and the sum are known after a single pass over the blocks.

    m' = max(m, max_j x_j)    c = exp(m - m')    l' = c l + sum_j exp(x_j - m')

After the last block, the probabilities are exp(x - m) / l. The sum refers to the largest entry so
far, so a larger entry shrinks it by the factor c. As long as m' is -inf, 0 is subtracted instead.
Milakov and Gimelshein 2018, "Online normalizer calculation for softmax".
"""

import torch


def online_softmax(blocks):
    """Return the softmax [..., sum of n_i] over all entries of blocks [..., n_i], an iterable."""
    kept = []
    largest, total = torch.tensor(float("-inf")), torch.tensor(0.0)
    for block in blocks:
        if kept and block.shape[:-1] != kept[0].shape[:-1]:
            first, found = list(kept[0].shape), list(block.shape)
            raise ValueError(f"blocks differ in more than the last axis: {first} and {found}")
        kept.append(block)

        # a running sum of ones in bfloat16 stops at 256
        entries = block.to(torch.promote_types(block.dtype, torch.float32))  # [..., n_i]
        # the largest so far never falls, so no exponent is positive
        new_largest = torch.maximum(largest, entries.amax(dim=-1, keepdim=True))  # [..., 1]
        # -inf - -inf would be NaN. The 0 is not kept: entries far below 0 may follow
        shift = new_largest.masked_fill(new_largest == float("-inf"), 0.0)  # [..., 1]
        block_sum = torch.exp(entries - shift).sum(dim=-1, keepdim=True)  # [..., 1]
        # the total so far refers to the old largest entry; exp(-inf) = 0 before the first entry
        correction = torch.exp(largest - shift)  # [..., 1]
        total = correction * total + block_sum
        largest = new_largest
    if not kept:
        raise ValueError("there must be at least 1 block; there are 0")

    # only now is the largest entry of the whole row known
    joined = torch.cat(kept, dim=-1)  # [..., N]
    exponentials = torch.exp(joined - shift)
    # not 0 / 0 in a row of -inf only
    divisor = total.masked_fill(total == 0, 1.0)  # [..., 1]
    probabilities = exponentials / divisor
    return probabilities.to(joined.dtype)
