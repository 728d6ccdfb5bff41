"""The masks of an encoder-decoder as comparisons of positions. True = may attend.

    padding[b, j] = j < lengths[b]        causal[i, j] = j <= i + (k_len - q_len)        decoder = padding and causal

All of them are [batch, heads, queries, keys] with axes of 1 where a mask does not depend on one.
Vaswani et al. 2017, "Attention Is All You Need".
"""

import torch


def padding_mask(lengths, max_len):
    """lengths int64 [B] -> bool [B, 1, 1, max_len]."""
    # max_len is not lengths.max(): a batch may have room that none of its items fills
    key_pos = torch.arange(max_len, device=lengths.device)  # [max_len]
    real = key_pos < lengths[:, None]  # [B, max_len]
    return real[:, None, None, :]  # keys last: [B, 1, 1, max_len]


def causal_mask(q_len, k_len):
    """-> bool [1, 1, q_len, k_len]."""
    key_pos = torch.arange(k_len)  # [k_len]
    # the queries are the last q_len of the k_len positions
    query_pos = torch.arange(q_len) + (k_len - q_len)  # [q_len]
    visible = key_pos[None, :] <= query_pos[:, None]  # [q_len, k_len]
    return visible[None, None]  # [1, 1, q_len, k_len]


def decoder_mask(lengths, max_len):
    """lengths int64 [B] -> bool [B, 1, max_len, max_len]."""
    causal = causal_mask(max_len, max_len).to(lengths.device)  # [1, 1, max_len, max_len]
    # keys only: with padded queries closed as well, their rows would be empty and softmax NaN
    real = padding_mask(lengths, max_len)  # [B, 1, 1, max_len]
    return causal & real  # [B, 1, max_len, max_len]


def cross_attention_mask(src_lengths, tgt_len, src_len):
    """src_lengths int64 [B] -> bool [B, 1, tgt_len, src_len]."""
    real = padding_mask(src_lengths, src_len)  # [B, 1, 1, src_len]
    # no target position is padding's business: every row is the same
    return real.expand(-1, -1, tgt_len, -1)  # [B, 1, tgt_len, src_len]
