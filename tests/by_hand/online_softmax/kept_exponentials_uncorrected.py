# mistakes: exponentials-kept-without-the-correction
"""The exponentials are kept in place of the blocks."""

import torch


def online_softmax(blocks):
    numerators = []
    best, denom = None, 0
    for logits in blocks:
        dtype = logits.dtype
        logits = logits.to(torch.promote_types(dtype, torch.float32))
        peak = logits.amax(dim=-1, keepdim=True).clamp(min=torch.finfo(logits.dtype).min)
        newest = peak if best is None else torch.maximum(best, peak)
        powers = (logits - newest).exp()
        if best is not None:
            denom = denom * (best - newest).exp()
        denom = denom + powers.sum(dim=-1, keepdim=True)
        numerators.append(powers)
        best = newest
    denom = denom.clamp(min=1)
    return (torch.cat(numerators, dim=-1) / denom).to(dtype)  # first wrong
