# mistakes: quotient-inverted
"""Sums over one-hot rows give the two probabilities; their quotient is upside down."""

import torch


def accept_draft(draft_tokens, draft_probs, target_probs, uniforms):
    work = torch.float64
    target, draft, chance = (t.to(work) for t in (target_probs, draft_probs, uniforms))
    hot = torch.nn.functional.one_hot(draft_tokens, target.shape[-1]).to(work)
    new, old = (hot * target[:-1]).sum(-1), (hot * draft).sum(-1)
    quotient = old / new  # first wrong
    good = (chance[:-1] < quotient).long().cumprod(0)
    amount = good.sum()
    excess = (target[:-1] - draft).clamp_min(0)
    excess = torch.cat([excess / excess.sum(-1, keepdim=True), target[-1:]])
    positions = (excess.cumsum(-1) > chance[-1]).long().argmax(-1)
    numbers = torch.arange(len(target))
    longest = torch.cat([draft_tokens, draft_tokens.new_zeros(1)])
    return torch.where(numbers == amount, positions, longest)[numbers <= amount]
