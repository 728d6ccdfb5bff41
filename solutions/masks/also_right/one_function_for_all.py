"""Write a single function that starts from ones, and call it for all four masks.

The rule is in one place and easy to extend, for example by a window. But each mask is written in
full: the cross-attention mask takes tgt_len times the memory of the view in the reference.
"""

from typing import Optional

import torch
from torch import Tensor


def _visible(q_len: int, k_len: int, lengths: Optional[Tensor] = None, causal: bool = False) -> Tensor:
    device = None if lengths is None else lengths.device
    batch = 1 if lengths is None else lengths.numel()
    mask = torch.ones(batch, 1, q_len, k_len, dtype=torch.bool, device=device)
    if lengths is not None:
        mask &= torch.arange(k_len, device=device).view(1, 1, 1, -1).lt(lengths.view(-1, 1, 1, 1))
    if causal:
        mask = mask.tril(diagonal=k_len - q_len)
    return mask


def padding_mask(lengths: Tensor, max_len: int) -> Tensor:
    return _visible(1, max_len, lengths)


def causal_mask(q_len: int, k_len: int) -> Tensor:
    return _visible(q_len, k_len, causal=True)


def decoder_mask(lengths: Tensor, max_len: int) -> Tensor:
    return _visible(max_len, max_len, lengths, causal=True)


def cross_attention_mask(src_lengths: Tensor, tgt_len: int, src_len: int) -> Tensor:
    return _visible(tgt_len, src_len, src_lengths)
