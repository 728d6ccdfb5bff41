# mistakes: refused-token-kept, drawn-from-the-draft
"""Python lists of tokens; the refused token stays, and the small model draws once more."""

import torch


def accept_draft(draft_tokens, draft_probs, target_probs, uniforms):
    tokens = draft_tokens.tolist()
    result = []
    distribution = target_probs[-1].double()
    for i, token in enumerate(tokens):
        result.append(token)
        p, q = target_probs[i].double(), draft_probs[i].double()
        if uniforms[i].double() >= p[token] / q[token]:
            distribution = q / q.sum()  # first wrong
            break
    above = distribution.cumsum(0) > uniforms[-1].double()
    result.append(int(above.int().argmax()))
    return torch.tensor(result)  # also wrong
