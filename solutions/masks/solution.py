"""The masks of an encoder-decoder as comparisons of positions. True = may attend.

    padding[b, j] = j < lengths[b]    causal[i, j] = j <= i + (k_len - q_len)
    decoder = padding and causal

All masks are [batch, heads, queries, keys]; an axis that a mask does not depend on has length 1.
Vaswani et al. 2017, "Attention Is All You Need".
"""

import torch


def padding_mask(lengths, max_len):
    """lengths int64 [B] -> bool [B, 1, 1, max_len]."""
    # max_len may be larger than lengths.max()
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
    # keys only: without the rows of padded queries, softmax would be NaN there
    real = padding_mask(lengths, max_len)  # [B, 1, 1, max_len]
    return causal & real  # [B, 1, max_len, max_len]


def cross_attention_mask(src_lengths, tgt_len, src_len):
    """src_lengths int64 [B] -> bool [B, 1, tgt_len, src_len]."""
    real = padding_mask(src_lengths, src_len)  # [B, 1, 1, src_len]
    # the padding does not depend on the target position: all rows are equal
    return real.expand(-1, -1, tgt_len, -1)  # [B, 1, tgt_len, src_len]
