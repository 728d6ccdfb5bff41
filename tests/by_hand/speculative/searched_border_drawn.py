# mistakes: border-drawn
"""searchsorted without right=True finds the first sum that is at least the uniform."""

import torch


def accept_draft(draft_tokens, draft_probs, target_probs, uniforms):
    target, draft, u = target_probs.double(), draft_probs.double(), uniforms.double()
    place = 0
    for token in draft_tokens.tolist():
        if not u[place] < target[place, token] / draft[place, token]:
            break
        place += 1
    rest = target[place]
    if place < len(draft_tokens):
        rest = torch.relu(rest - draft[place])
        rest = rest / rest.sum()
    sums = rest.cumsum(0)
    new = torch.searchsorted(sums, u[-1:])  # first wrong
    return torch.cat([draft_tokens[:place], new])
