# mistakes: drawn-from-the-target
"""A loop over the draft; the token after a refusal comes from the large model's own row."""

import torch


def accept_draft(draft_tokens, draft_probs, target_probs, uniforms):
    n = draft_tokens.numel()
    out = []
    for i in range(n):
        x = int(draft_tokens[i])
        ratio = float(target_probs[i, x]) / float(draft_probs[i, x])
        if float(uniforms[i]) >= min(1.0, ratio):
            break
        out.append(draft_tokens[i : i + 1])
    running = torch.cumsum(target_probs[len(out)].double(), 0)  # first wrong
    token = torch.searchsorted(running, uniforms[n:].double(), right=True)
    return torch.cat([*out, token])
