# mistakes: block-sum-of-the-block-maximum
# diagnosis: not named
"""A nested function returns the maximum and the sum of a block."""

import torch


def online_softmax(blocks):
    def statistics(t):
        high = t.amax(-1, keepdim=True).clamp(min=torch.finfo(t.dtype).min)
        return high, torch.sum(torch.exp(t - high), dim=-1, keepdim=True)

    stored = list(blocks)
    dtype = stored[0].dtype
    stored = [t.to(torch.promote_types(dtype, torch.float32)) for t in stored]
    m, z = statistics(stored[0])
    for t in stored[1:]:
        high, part = statistics(t)  # first wrong
        new = torch.where(high > m, high, m)
        z = z * torch.exp(m - new) + part
        m = new
    return (torch.cat([torch.exp(t - m) for t in stored], dim=-1) / z.clamp(min=1e-30)).to(dtype)
