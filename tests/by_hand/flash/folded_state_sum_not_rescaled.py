# mistakes: sum-not-rescaled
"""A fold: functools.reduce over the blocks with a state of three tensors."""

from functools import partial, reduce
from typing import NamedTuple

import torch
from torch import Tensor


class State(NamedTuple):
    peak: Tensor  # [B, H, Lq]
    norm: Tensor  # [B, H, Lq]
    out: Tensor  # [B, H, Lq, D]


class Block(NamedTuple):
    keys: Tensor
    values: Tensor
    index: Tensor


def hide(scores: Tensor, index: Tensor, last: Tensor | None) -> Tensor:
    return scores if last is None else scores.masked_fill(index > last, -torch.inf)


def step(state: State, block: Block, q: Tensor, last: Tensor | None) -> State:
    scores = hide(torch.matmul(q, block.keys.mT) / q.size(-1) ** 0.5, block.index, last)
    peak = torch.maximum(state.peak, scores.amax(-1))
    exps = torch.exp(scores - peak.unsqueeze(-1))
    decay = torch.exp(state.peak - peak)
    norm = state.norm + exps.sum(-1)  # first wrong
    out = state.out * decay.unsqueeze(-1) + torch.matmul(exps, block.values)
    return State(peak, norm, out)


def flash_attention(q, k, v, causal=False, block_size=64):
    dtype = q.dtype
    wide = torch.promote_types(dtype, torch.float32)
    q, k, v = (x.to(wide) for x in (q, k, v))
    ahead = k.size(2) - q.size(2)
    last = torch.arange(q.size(2)).unsqueeze(-1) + ahead if causal else None
    start = State(q.new_full(q.shape[:3], -torch.inf), q.new_zeros(q.shape[:3]), torch.zeros_like(q))
    blocks = map(Block, k.split(block_size, 2), v.split(block_size, 2), torch.arange(k.size(2)).split(block_size))
    final = reduce(partial(step, q=q, last=last), blocks, start)
    return (final.out / final.norm.unsqueeze(-1)).to(dtype)
