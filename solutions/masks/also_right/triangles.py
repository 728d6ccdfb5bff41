"""Cut the causal mask out of a matrix of ones with tril.

This makes two matrices of q_len * k_len bytes, the ones and the triangle, while the comparison of
the reference makes only the mask. It is the shortest form, and the offset is the diagonal of tril.
"""

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
