"""Treat each lse as a maximum with the sum 1, and merge the pairs as an online softmax does.

The same code merges the states of a flash kernel, which keeps maxima and sums apart. In float32,
bfloat16 inputs lose nothing before the final cast; the casts cost memory.
"""

import torch


def correction(old, new):
    return torch.where(old == -torch.inf, torch.zeros_like(old), torch.exp(old - new))


def merge_attention(out_a, lse_a, out_b, lse_b):
    kind = torch.promote_types(torch.promote_types(out_a.dtype, lse_a.dtype), torch.float32)
    m_a, m_b = lse_a.to(kind), lse_b.to(kind)
    m = torch.where(m_a > m_b, m_a, m_b)
    c_a, c_b = correction(m_a, m), correction(m_b, m)
    total = c_a + c_b
    accumulated = c_a[..., None] * out_a.to(kind) + c_b[..., None] * out_b.to(kind)
    out = accumulated / total.clamp(min=0.5)[..., None]
    return out.to(out_a.dtype), (m + total.log()).to(lse_a.dtype)
