# mistakes: sink-without-exp
"""The softmax is written out, with helpers."""

import torch


def similarities(a, b):
    return torch.matmul(a, b.mT) / (a.shape[-1] ** 0.5)


def sink_attention(q, k, v, sink_logits, mask=None):
    energy = similarities(q, k)
    if mask is not None:
        energy = energy.masked_fill(mask == 0, float("-inf"))
    extra = sink_logits.type_as(energy).view(-1, 1, 1).expand(*energy.shape[:3], 1)
    everything = torch.cat([energy, extra], dim=3)
    powers = torch.exp(energy - everything.max(dim=-1, keepdim=True)[0].detach())
    below = powers.sum(-1, keepdim=True) + extra  # first wrong
    return torch.div(powers, below).matmul(v)
