"""Let logaddexp compute the lse, and compute each share as exp of the difference from it.

logaddexp handles two infinite arguments itself, so only the differences need protection. The shares
contain the rounding of lse: near 1e4 in float32 they sum to 1 only to three digits.
"""

import torch


def merge_attention(out_a, lse_a, out_b, lse_b):
    lse = torch.logaddexp(lse_a, lse_b)
    finite = torch.where(lse == -torch.inf, torch.zeros_like(lse), lse)
    w_a = torch.exp(lse_a - finite).unsqueeze(-1).to(out_a.dtype)
    w_b = torch.exp(lse_b - finite).unsqueeze(-1).to(out_a.dtype)
    return w_a * out_a + w_b * out_b, lse
