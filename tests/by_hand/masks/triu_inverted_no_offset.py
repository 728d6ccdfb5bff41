# mistakes: causal-without-offset
"""What may not be seen comes first and is inverted at the end."""

import torch


def padding_mask(lengths, max_len):
    columns = torch.arange(max_len, device=lengths.device)
    beyond = columns.unsqueeze(0) >= lengths.unsqueeze(1)
    return beyond.logical_not()[:, None, None]


def causal_mask(q_len, k_len):
    everything = torch.ones(q_len, k_len, dtype=torch.bool)
    future = torch.triu(everything, diagonal=1)  # first wrong
    return future.logical_not().unsqueeze(0).unsqueeze(0)


def decoder_mask(lengths, max_len):
    not_yet = ~causal_mask(max_len, max_len).to(lengths.device)
    not_real = ~padding_mask(lengths, max_len)
    return ~(not_yet | not_real)


def cross_attention_mask(src_lengths, tgt_len, src_len):
    closed = ~padding_mask(src_lengths, src_len)
    return ~closed.tile((1, 1, tgt_len, 1))
