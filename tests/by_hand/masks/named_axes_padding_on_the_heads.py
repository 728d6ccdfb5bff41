# mistakes: padding-on-the-head-axis
"""A helper puts axes, named by letters, where they belong among [b, h, q, k]."""

import torch

ORDER = "bhqk"


def laid(mask, letters):
    shape = [1, 1, 1, 1]
    for letter, size in zip(letters, mask.shape):
        shape[ORDER.index(letter)] = size
    return mask.reshape(shape)


def padding_mask(lengths, max_len):
    pos = torch.arange(max_len, device=lengths.device)
    return laid(lengths[:, None].gt(pos), "bh")  # first wrong


def causal_mask(q_len, k_len):
    past = k_len - q_len
    q_pos, k_pos = torch.arange(past, k_len), torch.arange(k_len)
    return laid(torch.ge(q_pos[:, None], k_pos), "qk")


def decoder_mask(lengths, max_len):
    return torch.logical_and(padding_mask(lengths, max_len), causal_mask(max_len, max_len).to(lengths.device))


def cross_attention_mask(src_lengths, tgt_len, src_len):
    keys = padding_mask(src_lengths, src_len)
    return keys.repeat(1, 1, tgt_len, 1)
