# mistakes: sink-scaled
"""logaddexp for the denominator; the scale is applied to everything that looks like a score."""

import torch


def sink_attention(q, k, v, sink_logits, mask=None):
    scale = q.shape[-1] ** -0.5
    dots = torch.einsum("b h i d, b h j d -> b h i j", q, k) * scale
    drains = sink_logits.to(q.dtype) * scale  # first wrong
    if mask is not None:
        dots = dots.masked_fill(~mask, -1e9)
    log_total = torch.logaddexp(torch.logsumexp(dots, -1), drains.unsqueeze(-1))
    return torch.einsum("b h i j, b h j d -> b h i d", (dots - log_total[..., None]).exp(), v)
