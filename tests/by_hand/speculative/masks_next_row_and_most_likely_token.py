# mistakes: last-draft-place-after-a-whole-draft, most-likely-token
"""Masks instead of branches; the row after the draft is missed, and no chance decides."""

import torch


def accept_draft(draft_tokens, draft_probs, target_probs, uniforms):
    work = torch.promote_types(target_probs.dtype, torch.float32)
    n = len(draft_tokens)
    p, q = target_probs.to(work), draft_probs.to(work)
    picked = draft_tokens.view(-1, 1)
    ratios = (p[:n].gather(1, picked) / q.gather(1, picked)).view(-1)
    count = int((uniforms[:n] < ratios).cumprod(0).sum())
    last = max(n - 1, 0)
    whole = p[last]  # first wrong
    refused = (p[min(count, last)] - q[min(count, last)]).clamp(min=0) if n else whole
    table = torch.where(torch.tensor(count < n), refused / refused.sum(), whole)
    token = table.argmax(0, keepdim=True)  # also wrong
    return torch.cat([draft_tokens[:count], token])
