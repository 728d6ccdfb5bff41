# mistakes: all-accepted-tokens-counted
"""No number leaves its tensor; the accepted tokens are summed wherever they are."""

import torch
import torch.nn.functional as F


def accept_draft(draft_tokens, draft_probs, target_probs, uniforms):
    big, small = target_probs.double(), F.pad(draft_probs.double(), (0, 0, 0, 1))
    at = draft_tokens.unsqueeze(1)
    n = at.size(0)
    of_big = torch.take_along_dim(big[:n], at, 1).squeeze(1)
    of_small = torch.take_along_dim(small[:n], at, 1).squeeze(1)
    stays = uniforms[:n] * of_small < of_big
    k = stays.sum(0, keepdim=True)  # first wrong
    weights = torch.relu(big.index_select(0, k) - small.index_select(0, k))[0]
    reached = weights.cumsum(0) / weights.sum()
    token = (reached <= uniforms[n]).sum(0, keepdim=True)
    place = torch.arange(n + 1)
    text = torch.where(place == k, token, F.pad(draft_tokens, (0, 1)))
    return text[place <= k]
