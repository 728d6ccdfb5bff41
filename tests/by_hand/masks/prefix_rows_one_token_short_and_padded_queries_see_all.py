# mistakes: padding-off-by-one, decoder-padded-queries-see-all
"""Row n of a table is a prefix of n tokens; rows are picked by length or by number of visible keys."""

import torch


def prefixes(size, device=None):
    """[size + 1, size]: row n begins with n times True."""
    return torch.ones(size + 1, size, dtype=torch.bool, device=device).tril(-1)


def padding_mask(lengths, max_len):
    table = prefixes(max_len, lengths.device)
    picked = table.index_select(0, lengths - 1)  # first wrong
    return picked.reshape(len(lengths), 1, 1, max_len)


def causal_mask(q_len, k_len):
    table = prefixes(k_len)
    return table[-q_len:][None, None]


def decoder_mask(lengths, max_len):
    real_key = padding_mask(lengths, max_len)
    real_query = real_key.mT
    both = causal_mask(max_len, max_len).to(lengths.device) & real_key
    return both.where(real_query, True)  # also wrong


def cross_attention_mask(src_lengths, tgt_len, src_len):
    return padding_mask(src_lengths, src_len).repeat_interleave(tgt_len, 2)
