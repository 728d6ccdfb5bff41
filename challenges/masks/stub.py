import torch


def padding_mask(lengths, max_len):
    """Return a mask of the real tokens: key j of item b is real if and only if j < lengths[b].

    lengths int64 [B], 1 <= lengths <= max_len.
    -> bool [B, 1, 1, max_len], True = may attend, on the device of lengths.
    """
    # 1. Make the positions of the keys, on the device of lengths. -> [max_len]
    # 2. Compare every position with the length of every item. -> [B, max_len]
    # 3. Add the axes of heads and queries; keys stay last. -> [B, 1, 1, max_len]
    raise NotImplementedError


def causal_mask(q_len, k_len):
    """Return a causal mask: query i sees key j if and only if j <= i + (k_len - q_len).

    The queries are the last q_len of k_len positions (q_len <= k_len).
    -> bool [1, 1, q_len, k_len].
    """
    # 1. Make the positions of the keys. -> [k_len]
    # 2. Make the positions of the queries: the last q_len of the k_len. -> [q_len]
    # 3. Compare: a query sees its own position and earlier ones. -> [q_len, k_len]
    # 4. Add the axes of batch and heads. -> [1, 1, q_len, k_len]
    raise NotImplementedError


def decoder_mask(lengths, max_len):
    """Return a causal mask without padded keys. Rows of padded queries follow the same rule.

    lengths int64 [B] -> bool [B, 1, max_len, max_len].
    """
    # 1. Make the causal mask, on the device of lengths. -> [1, 1, max_len, max_len]
    # 2. Make the padding mask of the keys; padded queries keep their rows. -> [B, 1, 1, max_len]
    # 3. Allow the positions that both masks allow. -> [B, 1, max_len, max_len]
    raise NotImplementedError


def cross_attention_mask(src_lengths, tgt_len, src_len):
    """Return a mask in which every target position sees the real tokens of its source.

    src_lengths int64 [B] -> bool [B, 1, tgt_len, src_len].
    """
    # 1. Make the padding mask of the source. -> [B, 1, 1, src_len]
    # 2. Repeat its row for every target position, in full size. -> [B, 1, tgt_len, src_len]
    raise NotImplementedError
