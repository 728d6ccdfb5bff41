"""Ones, a triangle cut out of them, and views."""

import torch


def padding_mask(lengths, max_len):
    idx = torch.arange(max_len, device=lengths.device)
    return (idx[None, :] < lengths[:, None])[:, None, None, :]


def causal_mask(q_len, k_len):
    return torch.ones(q_len, k_len, dtype=torch.bool).tril(k_len - q_len)[None, None]


def decoder_mask(lengths, max_len):
    return padding_mask(lengths, max_len) & causal_mask(max_len, max_len).to(lengths.device)


def cross_attention_mask(src_lengths, tgt_len, src_len):
    return padding_mask(src_lengths, src_len).expand(-1, 1, tgt_len, -1)
