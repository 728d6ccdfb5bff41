# mistakes: blocks-read-twice
"""The first loop makes the sums, the second the probabilities."""

import torch


def online_softmax(blocks):
    biggest, sums = None, None
    for part in blocks:
        part = part.to(torch.promote_types(part.dtype, torch.float32))
        peak = part.amax(dim=-1, keepdim=True).clamp(min=torch.finfo(part.dtype).min)
        if biggest is None:
            biggest, sums = peak, torch.zeros_like(peak)
        higher = torch.maximum(biggest, peak)
        sums = sums * torch.exp(biggest - higher) + torch.exp(part - higher).sum(-1, True)
        biggest = higher
    results = [(torch.exp(part - biggest) / sums.clamp(min=1)).to(part.dtype) for part in blocks]  # first wrong
    return torch.cat(results, dim=-1)
