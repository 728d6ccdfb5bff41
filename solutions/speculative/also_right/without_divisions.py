"""Multiply instead of dividing: u * q < p accepts, and u * sum is compared with the sums.

There is no quotient that could be infinite or NaN, and the residual is not normalised. A reader
must see that both sides of the comparisons were multiplied by the same positive number.
"""

import torch


def accept_draft(draft_tokens, draft_probs, target_probs, uniforms):
    target, draft = target_probs, draft_probs
    if target.dtype == torch.bfloat16:
        target, draft, uniforms = target.float(), draft.float(), uniforms.float()
    *chances, last = uniforms.unbind()
    of_draft = torch.take_along_dim(draft, draft_tokens[:, None], 1).flatten()
    of_target = torch.take_along_dim(target[:-1], draft_tokens[:, None], 1).flatten()
    length = 0
    while length < len(chances) and chances[length] * of_draft[length] < of_target[length]:
        length += 1
    weights = target[length]
    if length < len(chances):
        weights = torch.maximum(weights - draft[length], weights.new_zeros(()))
    reached = weights.cumsum(0)
    token = torch.nonzero(reached > last * weights.sum())[0]
    return torch.cat([draft_tokens[:length], token])
