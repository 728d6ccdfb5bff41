# mistakes: lengths-changed
"""The last real position instead of the length, in functions inside functions, on many short lines."""

import torch


def padding_mask(lengths, max_len):
    def last_position():
        last = lengths
        last -= 1  # first wrong
        return last

    def upto(last):
        keys = torch.arange(max_len, device=last.device)
        keys = keys.view(1, 1, 1, max_len)
        last = last.view(-1, 1, 1, 1)
        return keys <= last

    return upto(last_position())


def causal_mask(q_len, k_len):
    first_query = k_len - q_len

    def sees(query, key):
        return key <= query

    queries = torch.arange(first_query, k_len)
    keys = torch.arange(k_len)
    queries, keys = torch.meshgrid(queries, keys, indexing="ij")
    mask = sees(queries, keys)
    return mask.view(1, 1, q_len, k_len)


def decoder_mask(lengths, max_len):
    past = causal_mask(max_len, max_len)
    past = past.to(lengths.device)
    real = padding_mask(lengths, max_len)
    return past * real


def cross_attention_mask(src_lengths, tgt_len, src_len):
    real = padding_mask(src_lengths, src_len)
    batch = real.shape[0]
    return real.broadcast_to(batch, 1, tgt_len, src_len)
