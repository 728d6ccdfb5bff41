# mistakes: angles-interleaved
"""Angles stacked and reshaped to D columns; the rotation is a product of complex numbers."""

import torch


def rope_cos_sin(head_dim, max_seq_len, base=10000.0):
    half = head_dim // 2
    theta = torch.arange(max_seq_len).view(-1, 1) * torch.pow(base, -torch.arange(half) / half)
    theta = torch.stack([theta, theta], dim=2).reshape(max_seq_len, head_dim)  # first wrong
    return theta.cos(), theta.sin()


def apply_rope(q, k, cos, sin, position_ids=None):
    half = cos.shape[1] // 2
    phase = torch.complex(cos[:, :half].contiguous(), sin[:, :half].contiguous())
    phase = phase[None, : q.shape[2]] if position_ids is None else phase[position_ids]
    phase = phase[:, None]

    def times_phase(x):
        re, im = x.split(half, dim=-1)
        if x.dtype == torch.bfloat16:
            re, im = re.float(), im.float()
        z = torch.complex(re, im) * phase
        return torch.cat([z.real, z.imag], dim=-1).to(x.dtype)

    return times_phase(q), times_phase(k)
