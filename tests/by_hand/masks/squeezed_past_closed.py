# mistakes: causal-past-hidden
"""In as few lines as it goes."""

import torch


def padding_mask(lengths, max_len): return (lengths.view(-1, 1, 1, 1) - torch.arange(max_len, device=lengths.device)).clamp(0, 1).bool()


def causal_mask(q_len, k_len): return torch.cat((torch.zeros(q_len, k_len - q_len), torch.ones(q_len, q_len).tril()), 1).bool()[None, None]  # first wrong


def decoder_mask(lengths, max_len): return padding_mask(lengths, max_len).where(causal_mask(max_len, max_len).to(lengths.device), False)


def cross_attention_mask(src_lengths, tgt_len, src_len): return padding_mask(src_lengths, src_len)[:, :, [0] * tgt_len]
