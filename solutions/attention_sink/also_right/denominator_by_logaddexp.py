"""Compute the logarithm of the denominator with logaddexp, and exponentiate the difference.

You subtract no maximum by hand, and a row without keys needs no special case: its logsumexp is far
below the sink, so the denominator is the sink alone. With scores of ±200 the logarithm has an error
of about 1e-5, which exp turns into a relative error of the weights.
"""

import torch


def sink_attention(q, k, v, sink_logits, mask=None):
    scores = (q.unsqueeze(-2) * k.unsqueeze(-3)).sum(-1) / torch.tensor(q.size(-1)).sqrt().to(q.dtype)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    denominators = torch.logaddexp(scores.logsumexp(-1), sink_logits.type_as(scores).unsqueeze(-1))
    return torch.exp(scores - denominators.unsqueeze(-1)) @ v
