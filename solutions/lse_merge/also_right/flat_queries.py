"""Flatten all leading dims first, so that the formula has only queries and features.

No step depends on the number of dims. reshape copies inputs that are not contiguous, and the shares
come from a matrix product with two rows for each query.
"""

import torch


def merge_attention(out_a, lse_a, out_b, lse_b):
    rows, features = out_a.numel() // out_a.shape[-1], out_a.shape[-1]
    both = torch.stack([lse_a.reshape(rows), lse_b.reshape(rows)], dim=1)
    top = both.detach().amax(dim=1, keepdim=True).clamp(min=torch.finfo(both.dtype).min)
    powers = torch.exp(both - top)
    total = powers.sum(dim=1, keepdim=True)
    shares = powers / total.masked_fill(total == 0, 1)
    outs = torch.stack([out_a.reshape(rows, features), out_b.reshape(rows, features)], dim=1)
    merged = torch.bmm(shares.to(outs.dtype).unsqueeze(1), outs)
    lse = torch.log(total) + top
    return merged.reshape(out_a.shape), lse.reshape(lse_a.shape)
