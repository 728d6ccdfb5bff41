# mistakes: maximum-starts-at-zero
"""The running values have no last axis; it is added when it is needed."""

import torch


def online_softmax(blocks):
    seen = []
    top = norm = None
    for chunk in blocks:
        dtype = chunk.dtype
        chunk = chunk.to(torch.promote_types(dtype, torch.float32))
        if top is None:
            top = chunk.new_zeros(chunk.shape[:-1])  # first wrong
            norm = chunk.new_zeros(chunk.shape[:-1])
        new_top = torch.maximum(top, chunk.max(-1)[0])
        norm = norm * torch.exp(top - new_top) + torch.exp(chunk - new_top.unsqueeze(-1)).sum(-1)
        top = new_top
        seen.append(chunk)
    numerators = torch.exp(torch.cat(seen, dim=-1) - top.unsqueeze(-1))
    norm = norm + (norm == 0)
    return (numerators / norm.unsqueeze(-1)).to(dtype)
