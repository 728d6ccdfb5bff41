"""Pick rows of a lower triangle in TorchScript: row n - 1 of the triangle is a prefix of n tokens.

The triangle takes max_len * max_len bytes for a padding mask of B * max_len bytes, and a decode
step with a single query makes a triangle of k_len * k_len bytes. The reference needs only the mask.
"""

import torch


@torch.jit.script
def padding_mask(lengths: torch.Tensor, max_len: int) -> torch.Tensor:
    triangle = torch.ones([max_len, max_len], dtype=torch.bool, device=lengths.device).tril()
    return triangle[lengths - 1].view(-1, 1, 1, max_len)


@torch.jit.script
def causal_mask(q_len: int, k_len: int) -> torch.Tensor:
    triangle = torch.ones([k_len, k_len], dtype=torch.bool).tril()
    return triangle[k_len - q_len :].view(1, 1, q_len, k_len)


def decoder_mask(lengths, max_len):
    return torch.minimum(padding_mask(lengths, max_len), causal_mask(max_len, max_len).to(lengths.device))


def cross_attention_mask(src_lengths, tgt_len, src_len):
    return padding_mask(src_lengths, src_len).repeat_interleave(tgt_len, dim=-2)
