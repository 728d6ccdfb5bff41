"""numpy tril for the constant; arange compare; and lru_cache for the causal mask."""
from functools import lru_cache
import numpy as np
import torch


def padding_mask(lengths, max_len):
    B = lengths.size(0)
    return (torch.arange(max_len, device=lengths.device).expand(B, max_len) < lengths.unsqueeze(1)).view(B, 1, 1, max_len)


@lru_cache(maxsize=32)
def _tril(q_len, k_len):
    return torch.from_numpy(np.tril(np.ones((q_len, k_len), dtype=bool), k=k_len - q_len))


def causal_mask(q_len, k_len):
    return _tril(q_len, k_len)[None, None]


def decoder_mask(lengths, max_len):
    return padding_mask(lengths, max_len) & causal_mask(max_len, max_len).to(lengths.device)


def cross_attention_mask(src_lengths, tgt_len, src_len):
    return padding_mask(src_lengths, src_len).repeat(1, 1, tgt_len, 1)
