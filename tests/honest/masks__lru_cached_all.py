"""The causal mask and the positions cached by size with functools.lru_cache."""
from functools import lru_cache
import torch


@lru_cache(maxsize=None)
def causal_mask(q_len, k_len):
    return torch.ones(q_len, k_len, dtype=torch.bool).tril(k_len - q_len)[None, None]


@lru_cache(maxsize=None)
def _positions(n, device):
    return torch.arange(n, device=device)


def padding_mask(lengths, max_len):
    return (_positions(max_len, lengths.device) < lengths[:, None])[:, None, None]


def decoder_mask(lengths, max_len):
    return causal_mask(max_len, max_len).to(lengths.device) & padding_mask(lengths, max_len)


def cross_attention_mask(src_lengths, tgt_len, src_len):
    return padding_mask(src_lengths, src_len).expand(-1, 1, tgt_len, -1)
