"""Let a small object keep the maximum and the sum of each row, in float32 or finer.

The object can be stored and continued later, and bfloat16 sums of many blocks keep their digits.
The price is a cast of each block, which takes twice the memory of bfloat16.
"""

import torch


class Normaliser:
    def __init__(self, first):
        wide = torch.promote_types(first.dtype, torch.float32)
        self.m = torch.full((*first.shape[:-1], 1), -torch.inf, dtype=wide, device=first.device)
        self.l = torch.zeros_like(self.m)

    def update(self, block):
        block = block.to(self.m.dtype)
        before = self.m
        self.m = torch.maximum(before, block.max(dim=-1, keepdim=True)[0])
        m = self.base
        self.l = self.l * torch.exp(before - m) + (block - m).exp().sum(-1, keepdim=True)

    @property
    def base(self):
        """The maximum, or 0 for a row that has seen only -inf."""
        return self.m.masked_fill(self.m == -torch.inf, 0)

    def probabilities(self, block):
        sums = self.l + (self.l == 0)
        return (torch.exp(block.to(self.m.dtype) - self.base) / sums).to(block.dtype)


def online_softmax(blocks):
    state, seen = None, []
    for block in blocks:
        state = state or Normaliser(block)
        state.update(block)
        seen.append(block)
    return torch.cat([state.probabilities(block) for block in seen], dim=-1)
