import torch


def padding_mask(lengths, max_len):
    """Which keys are real tokens: position j of item b iff j < lengths[b].

    lengths int64 [B], 1 <= lengths <= max_len -> bool [B, 1, 1, max_len], True = may attend, on the device of lengths.
    """
    # 1. The positions of the keys, on the device of lengths. -> [max_len]
    # 2. Compare every position with the length of every item. -> [B, max_len]
    # 3. Add the axes of heads and queries: keys stay last. -> [B, 1, 1, max_len]
    raise NotImplementedError


def causal_mask(q_len, k_len):
    """Query i sees key j iff j <= i + (k_len - q_len): the queries are the last q_len of k_len positions (q_len <= k_len).

    -> bool [1, 1, q_len, k_len].
    """
    # 1. The positions of the keys. -> [k_len]
    # 2. The positions of the queries: the last q_len of the k_len. -> [q_len]
    # 3. Compare each query with each key: it sees itself and what is earlier. -> [q_len, k_len]
    # 4. Add the axes of batch and heads. -> [1, 1, q_len, k_len]
    raise NotImplementedError


def decoder_mask(lengths, max_len):
    """Causal, and no key that is padding. Rows of padded queries are masked like any others.

    lengths int64 [B] -> bool [B, 1, max_len, max_len].
    """
    # 1. The causal mask, on the device of lengths. -> [1, 1, max_len, max_len]
    # 2. The padding of the keys; the rows of padded queries stay open. -> [B, 1, 1, max_len]
    # 3. Let through what both let through. -> [B, 1, max_len, max_len]
    raise NotImplementedError


def cross_attention_mask(src_lengths, tgt_len, src_len):
    """Every target position sees the real tokens of its source.

    src_lengths int64 [B] -> bool [B, 1, tgt_len, src_len].
    """
    # 1. The padding of the source. -> [B, 1, 1, src_len]
    # 2. The same row for every target position, at its full size. -> [B, 1, tgt_len, src_len]
    raise NotImplementedError
