# mistakes: accepted-by-the-target-alone, draw-with-the-first-uniform
"""Index vectors for the lookup; the check forgets q, and the draw reads the wrong uniform."""

import torch


def accept_draft(draft_tokens, draft_probs, target_probs, uniforms):
    p = target_probs.float()
    q = draft_probs.float()
    n = draft_tokens.shape[0]
    at = p[torch.arange(n), draft_tokens]
    passed = uniforms[:n] < at  # first wrong
    stop = passed.long().cumprod(0).sum()
    over = torch.where(p[:n] > q, p[:n] - q, 0.0)
    over = over / over.sum(1, keepdim=True)
    chances = torch.cat([over, p[n:]])[stop]
    token = (chances.cumsum(0) <= uniforms[0]).sum()  # also wrong
    return torch.cat([draft_tokens[:stop], token.reshape(1)])
