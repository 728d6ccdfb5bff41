# mistakes: no-token-after-a-whole-draft
"""A loop that returns at the first refusal; the whole draft is returned as it is."""

import torch


def accept_draft(draft_tokens, draft_probs, target_probs, uniforms):
    p, q, u = target_probs.float(), draft_probs.float(), uniforms.float()
    for i, token in enumerate(draft_tokens):
        if u[i] < p[i, token] / q[i, token]:
            continue
        excess = (p[i] - q[i]).clamp(min=0)
        reached = (excess / excess.sum()).cumsum(0)
        drawn = (reached > u[-1]).int().argmax()
        return torch.cat([draft_tokens[:i], drawn.reshape(1)])
    return draft_tokens.clone()  # first wrong
