# mistakes: base-two
"""torch.pow with a base."""

import torch


def softmax(x, dim=-1):
    peak = x.amax(dim, keepdim=True)
    peak = peak.masked_fill(torch.isinf(peak), 0)
    grown = torch.pow(2, x - peak)  # first wrong
    share = grown.sum(dim, keepdim=True)
    share = share + (share == 0)
    return grown / share
