"""Walk through the draft with a Python loop, and search the sorted cumulative sums.

The loop reads like the definition and ends early, but on a GPU every comparison waits for its
result. `right=True` makes `searchsorted` skip sums that equal the uniform, such as leading zeros.
"""

import torch


def draw(probabilities, uniform):
    sums = probabilities.cumsum(-1)
    return torch.searchsorted(sums, uniform.to(sums.dtype).reshape(1), right=True)


def accept_draft(draft_tokens, draft_probs, target_probs, uniforms):
    dtype = torch.promote_types(draft_probs.dtype, torch.float32)
    kept = []
    for token, q, p, uniform in zip(draft_tokens, draft_probs, target_probs, uniforms):
        q, p = q.to(dtype), p.to(dtype)
        if uniform < min(1.0, float(p[token] / q[token])):
            kept.append(token)
            continue
        excess = torch.relu(p - q)
        kept.append(draw(excess / excess.sum(), uniforms[-1])[0])
        return torch.stack(kept)
    return torch.cat([draft_tokens, draw(target_probs[-1].to(dtype), uniforms[-1])])
