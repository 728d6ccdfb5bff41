# mistakes: not-divided-by-the-sum
"""A while loop without divisions; the residual is used as it is."""

import torch


def accept_draft(draft_tokens, draft_probs, target_probs, uniforms):
    p, q, u = target_probs.float(), draft_probs.float(), uniforms.float()
    length = len(draft_tokens)
    i = 0
    while i < length:
        token = draft_tokens[i]
        if u[i] * q[i, token] >= p[i, token]:
            break
        i += 1
    table = p[i]
    if i < length:
        table = torch.maximum(table - q[i], torch.zeros_like(table))
    hits = table.cumsum(0) > u[length]  # first wrong
    return torch.cat([draft_tokens[:i], hits.float().argmax().view(1)])
