# mistakes: causal-offset-of-k-len, cross-causal
# diagnosis: line elsewhere
"""Relative positions decide: a key may lie at most so far ahead of a query that is counted from 0."""

import torch


def relative(q_len, k_len):
    return torch.arange(k_len).unsqueeze(0) - torch.arange(q_len).unsqueeze(1)


def padding_mask(lengths, max_len):
    ahead = torch.arange(max_len, device=lengths.device) - lengths.unsqueeze(-1)
    return (ahead < 0).unsqueeze(-2).unsqueeze(-2)


def causal_mask(q_len, k_len):
    if q_len == k_len:
        past = 0
    else:
        past = k_len  # first wrong
    visible = relative(q_len, k_len) <= past
    return visible.reshape(1, 1, q_len, k_len)


def decoder_mask(lengths, max_len):
    mask = padding_mask(lengths, max_len).repeat(1, 1, max_len, 1)
    mask &= causal_mask(max_len, max_len).to(mask.device)
    return mask


def cross_attention_mask(src_lengths, tgt_len, src_len):
    source = padding_mask(src_lengths, src_len)
    longer_by = max(src_len - tgt_len, 0)
    known = relative(tgt_len, src_len).to(source.device) <= longer_by  # also wrong
    return source & known
