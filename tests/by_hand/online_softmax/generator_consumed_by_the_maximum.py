# mistakes: blocks-read-twice
"""The first loop makes the sums, the second the probabilities."""

import torch


def online_softmax(blocks):
    biggest, sums = None, None
    for part in blocks:
        peak = part.amax(dim=-1, keepdim=True)
        if biggest is None:
            biggest, sums = peak, torch.zeros_like(peak)
        higher = torch.maximum(biggest, peak)
        sums = sums * torch.exp(biggest - higher) + torch.exp(part - higher).sum(-1, True)
        biggest = higher
    results = [torch.exp(part - biggest) / sums for part in blocks]  # first wrong
    return torch.cat(results, dim=-1)
