# mistakes: no-scale, sink-of-the-first-head
"""A class for the denominators."""

import torch


class Denominator:
    def __init__(self, sinks):
        self.sinks = sinks

    def log(self, scores):
        extra = self.sinks[0].to(scores.dtype).expand(scores.shape[:-1])  # also wrong
        return torch.logaddexp(scores.logsumexp(dim=-1), extra).unsqueeze(-1)


def sink_attention(q, k, v, sink_logits, mask=None):
    scores = torch.matmul(q, k.transpose(-1, -2))  # first wrong
    if mask is not None:
        scores = scores.masked_fill(mask.logical_not(), -1e9)
    return torch.exp(scores - Denominator(sink_logits).log(scores)) @ v
