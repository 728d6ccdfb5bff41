"""Slice every mask from one global triangle that grows when it is too small.

Later causal masks are views and need no new memory, but the triangle stays in memory, with about
four times the bytes of the mask that made it grow. Writing into a causal mask changes all later
masks.
"""

import torch

_TRI = torch.ones(1, 1, dtype=torch.bool)


def _tri(n):
    global _TRI
    if n > _TRI.shape[0]:
        _TRI = torch.ones(2 * n, 2 * n, dtype=torch.bool).tril()
    return _TRI


def padding_mask(lengths, max_len):
    tri = _tri(max_len + 1)[:, :max_len].to(lengths.device)
    # row n - 1 of the triangle has n ones
    return tri[lengths - 1][:, None, None, :]


def causal_mask(q_len, k_len):
    return _tri(k_len)[None, None, k_len - q_len : k_len, :k_len]


def decoder_mask(lengths, max_len):
    return padding_mask(lengths, max_len).logical_and(
        causal_mask(max_len, max_len).to(lengths.device)
    )


def cross_attention_mask(src_lengths, tgt_len, src_len):
    return padding_mask(src_lengths, src_len).repeat(1, 1, tgt_len, 1)
