"""Online softmax: the largest entry and the sum are known after a single pass over the blocks.

    m' = max(m, max_j x_j)    c = exp(m - m')    l' = c l + sum_j exp(x_j - m')

After the last block, the probabilities are exp(x - m) / l. The sum refers to the largest entry so
far, so a larger entry shrinks it by the factor c. Milakov and Gimelshein 2018, "Online normalizer
calculation for softmax".
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

        # the largest so far never falls, so no exponent is positive
        new_largest = torch.maximum(largest, block.amax(dim=-1, keepdim=True))  # [..., 1]
        block_sum = torch.exp(block - new_largest).sum(dim=-1, keepdim=True)  # [..., 1]
        # the total so far refers to the old largest entry; exp(-inf) = 0 before the first block
        correction = torch.exp(largest - new_largest)  # [..., 1]
        total = correction * total + block_sum
        largest = new_largest
    if not kept:
        raise ValueError("there must be at least 1 block; there are 0")

    # only now is the largest entry of the whole row known
    joined = torch.cat(kept, dim=-1)  # [..., N]
    exponentials = torch.exp(joined - largest)
    return exponentials / total
