"""Draw a token for every place at once, and take the one at the first refusal.

A GPU needs the number of accepted tokens only at the end, and a batch of drafts would work in the
same way. All but one of the n + 1 draws are wasted, and places without a residual give NaN, which
is never used.
"""

import torch


def accept_draft(draft_tokens, draft_probs, target_probs, uniforms):
    dtype = torch.promote_types(target_probs.dtype, torch.float32)
    p, q, u = target_probs.to(dtype), draft_probs.to(dtype), uniforms.to(dtype)
    chosen = torch.nn.functional.one_hot(draft_tokens, p.shape[1]).bool()
    quotients = (p[:-1] / q)[chosen]
    rest = (p[:-1] - q).clamp(min=0)
    tables = torch.cat([rest / rest.sum(-1, keepdim=True), p[-1:]])
    sums = tables.cumsum(-1)
    draws = (sums > u[-1]).to(torch.uint8).argmax(-1)
    accepted = torch.cumprod((u[:-1] < quotients).long(), 0).sum()
    padded = torch.cat([draft_tokens, draft_tokens.new_zeros(1)])
    places = torch.arange(len(padded), device=padded.device)
    return torch.where(places == accepted, draws, padded)[: accepted + 1]
