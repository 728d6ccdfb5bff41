"""Reorder the features into halves, rotate them as GPT-NeoX does, and put them back.

Both reorderings copy all features. The table of angles goes up to the largest position, even if few
positions are used, and reading this position makes the CPU wait for the GPU.
"""

import torch


def rotate_half(x):
    a, b = x.chunk(2, dim=-1)
    return torch.cat((-b, a), dim=-1)


def apply_rope_interleaved(x, position_ids, base=10000.0):
    dim = x.shape[-1]
    order = torch.cat((torch.arange(0, dim, 2, device=x.device), torch.arange(1, dim, 2, device=x.device)))
    inv_freq = base ** -(torch.arange(0, dim, 2, dtype=torch.float32, device=x.device) / dim)
    table = torch.outer(torch.arange(int(position_ids.max()) + 1, device=x.device), inv_freq)
    table = torch.cat((table, table), dim=-1)
    # [L, 1, D] or [B, L, 1, D], then the heads before the length
    angles = table[position_ids].unsqueeze(-2).transpose(-2, -3)
    halves = x.index_select(-1, order)
    halves = halves * angles.cos() + rotate_half(halves) * angles.sin()
    return halves.index_select(-1, order.argsort()).to(x.dtype)
