# mistakes: cross-padding-on-the-target
"""Zeros and ones as integers, combined by einsum; boolean at the very end."""

import torch


def real_tokens(lengths, size):
    return (torch.arange(size, device=lengths.device) < lengths[:, None]).long()


def triangle(rows, columns):
    return torch.ones(rows, columns, dtype=torch.long).tril(columns - rows)


def padding_mask(lengths, max_len):
    return real_tokens(lengths, max_len)[:, None, None, :].bool()


def causal_mask(q_len, k_len):
    return triangle(q_len, k_len)[None, None, :, :].bool()


def decoder_mask(lengths, max_len):
    keys = real_tokens(lengths, max_len)
    both = torch.einsum("bk,qk->bqk", keys, triangle(max_len, max_len).to(keys.device))
    return both[:, None, :, :].bool()


def cross_attention_mask(src_lengths, tgt_len, src_len):
    target = real_tokens(src_lengths, tgt_len)  # first wrong
    source = target.new_ones(len(src_lengths), src_len)
    pairs = torch.einsum("bt,bs->bts", target, source)
    return pairs[:, None, :, :].bool()
