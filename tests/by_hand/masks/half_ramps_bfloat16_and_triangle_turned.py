# mistakes: padding-in-bfloat16, decoder-triangle-transposed
"""Ramps of positions in a small dtype to save memory, one helper for every comparison of rows with columns."""

import torch


def ramp(n, device=None, dtype=torch.int32):
    return torch.linspace(0, n - 1, n, dtype=torch.float64, device=device).to(dtype)


def at_most(columns, rows):
    return (columns[..., None, :] <= rows[..., :, None])[None, None]


def padding_mask(lengths, max_len):
    at = ramp(max_len, lengths.device, torch.bfloat16)  # first wrong
    return torch.lt(at, lengths[:, None, None, None])


def causal_mask(q_len, k_len):
    keys = ramp(k_len)
    queries = keys[k_len - q_len :]
    return at_most(keys, queries)


def decoder_mask(lengths, max_len):
    at = ramp(max_len, lengths.device)
    return at_most(-at, -at) & padding_mask(lengths, max_len)  # also wrong


def cross_attention_mask(src_lengths, tgt_len, src_len):
    nothing = torch.zeros(tgt_len, 1, dtype=torch.bool, device=src_lengths.device)
    return padding_mask(src_lengths, src_len) | nothing
