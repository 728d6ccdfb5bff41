# mistakes: shares-exchanged
"""A small class holds an output with its lse."""

import torch


class Part:
    def __init__(self, out, lse):
        self.out, self.lse = out, lse

    def scaled(self, reference, norm):
        return torch.exp(self.lse - reference).div(norm).unsqueeze(-1)


def merge_attention(out_a, lse_a, out_b, lse_b):
    a, b = Part(out_a, lse_a), Part(out_b, lse_b)
    top = torch.max(lse_a, lse_b)
    top = torch.where(torch.isinf(top), torch.zeros_like(top), top)
    norm = torch.exp(lse_a - top) + torch.exp(lse_b - top)
    safe = norm + (norm == 0)
    first = b.scaled(top, safe) * out_a
    merged = first + a.scaled(top, safe) * out_b  # first wrong
    return merged.to(out_a.dtype), top + norm.log()
