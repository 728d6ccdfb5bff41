"""Comparisons of columns with rows; the target's rows are repeated."""

import torch


def padding_mask(lengths, max_len):
    return torch.lt(torch.arange(max_len).unsqueeze(0), lengths.unsqueeze(-1)).view(-1, 1, 1, max_len)


def causal_mask(q_len, k_len):
    i = torch.arange(q_len).view(-1, 1)
    j = torch.arange(k_len).view(1, -1)
    return (j <= i + (k_len - q_len)).view(1, 1, q_len, k_len)


def decoder_mask(lengths, max_len):
    return torch.logical_and(padding_mask(lengths, max_len), causal_mask(max_len, max_len))


def cross_attention_mask(src_lengths, tgt_len, src_len):
    return padding_mask(src_lengths, src_len).repeat(1, 1, tgt_len, 1)
