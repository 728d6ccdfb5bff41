"""Count positions with a cumulative sum, and invert masks of the positions that are hidden.

The count takes 8 bytes for each position of each item, and the causal mask starts as float32, which
takes four times the memory of a boolean mask. The cross-attention mask is written in full; the
reference returns a view.
"""

import torch


def padding_mask(lengths, max_len):
    z = torch.ones(lengths.size(0), max_len, dtype=torch.long, device=lengths.device).cumsum(1)
    return ~(z > lengths.reshape(-1, 1)).reshape(-1, 1, 1, max_len)


def causal_mask(q_len, k_len):
    return ~torch.triu(torch.ones(1, 1, q_len, k_len), diagonal=1 + k_len - q_len).bool()


def decoder_mask(lengths, max_len):
    m = causal_mask(max_len, max_len).to(lengths.device).expand(lengths.shape[0], -1, -1, -1).clone()
    return m.masked_fill(~padding_mask(lengths, max_len), False)


def cross_attention_mask(src_lengths, tgt_len, src_len):
    p = padding_mask(src_lengths, src_len)
    return p & torch.ones(tgt_len, 1, dtype=torch.bool, device=p.device)
