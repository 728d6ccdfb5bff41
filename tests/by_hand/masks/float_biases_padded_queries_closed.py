# mistakes: decoder-queries-closed
"""Everything is a float bias of 0 and -inf that is added up; only the result becomes boolean."""

import torch
from torch import Tensor

NEG = float("-inf")


def as_bias(hidden: Tensor) -> Tensor:
    return torch.zeros(hidden.shape, device=hidden.device).masked_fill(hidden, NEG)


def key_bias(lengths: Tensor, size: int) -> Tensor:
    """[B, size]"""
    return as_bias(torch.arange(size, device=lengths.device).expand(lengths.numel(), size) >= lengths.view(-1, 1))


def future_bias(rows: int, cols: int) -> Tensor:
    """[rows, cols]"""
    return torch.full((rows, cols), NEG).triu(cols - rows + 1)


def padding_mask(lengths: Tensor, max_len: int) -> Tensor:
    return (key_bias(lengths, max_len) == 0).view(-1, 1, 1, max_len)


def causal_mask(q_len: int, k_len: int) -> Tensor:
    return (future_bias(q_len, k_len) == 0).view(1, 1, q_len, k_len)


def decoder_mask(lengths: Tensor, max_len: int) -> Tensor:
    pad = key_bias(lengths, max_len)
    bias = future_bias(max_len, max_len).to(lengths.device)
    bias = bias + pad[:, None, :] + pad[:, :, None]  # first wrong
    return (bias == 0).unsqueeze(1)


def cross_attention_mask(src_lengths: Tensor, tgt_len: int, src_len: int) -> Tensor:
    bias = key_bias(src_lengths, src_len)[:, None, None, :] + torch.zeros(tgt_len, 1, device=src_lengths.device)
    return bias == 0
