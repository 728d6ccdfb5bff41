"""Compare columns with rows for every mask, and repeat the rows of the cross-attention mask.

repeat writes B * tgt_len * src_len bytes, while the view of the reference writes none. The causal
mask of the decoder is made on the CPU, and then copied to the device of the lengths.
"""

import torch


def padding_mask(lengths, max_len):
    positions = torch.arange(max_len, device=lengths.device).unsqueeze(0)
    return torch.lt(positions, lengths.unsqueeze(-1)).view(-1, 1, 1, max_len)


def causal_mask(q_len, k_len):
    i = torch.arange(q_len).view(-1, 1)
    j = torch.arange(k_len).view(1, -1)
    return (j <= i + (k_len - q_len)).view(1, 1, q_len, k_len)


def decoder_mask(lengths, max_len):
    return torch.logical_and(padding_mask(lengths, max_len), causal_mask(max_len, max_len).to(lengths.device))


def cross_attention_mask(src_lengths, tgt_len, src_len):
    return padding_mask(src_lengths, src_len).repeat(1, 1, tgt_len, 1)
