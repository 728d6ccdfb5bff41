import torch


def padding_mask(lengths, max_len):
    """Which keys are real tokens: position j of item b iff j < lengths[b].

    lengths int64 [B], 1 <= lengths <= max_len -> bool [B, 1, 1, max_len], True = may attend, on the device of lengths.
    """
    raise NotImplementedError


def causal_mask(q_len, k_len):
    """Query i sees key j iff j <= i + (k_len - q_len): the queries are the last q_len of k_len positions (q_len <= k_len).

    -> bool [1, 1, q_len, k_len].
    """
    raise NotImplementedError


def decoder_mask(lengths, max_len):
    """Causal, and no key that is padding. Rows of padded queries are masked like any others.

    lengths int64 [B] -> bool [B, 1, max_len, max_len].
    """
    raise NotImplementedError


def cross_attention_mask(src_lengths, tgt_len, src_len):
    """Every target position sees the real tokens of its source.

    src_lengths int64 [B] -> bool [B, 1, tgt_len, src_len].
    """
    raise NotImplementedError
