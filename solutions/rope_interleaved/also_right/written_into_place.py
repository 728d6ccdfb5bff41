"""Even and odd columns are written into a new tensor; positions always as [1 or B, 1, L, 1]."""

import torch


def apply_rope_interleaved(x, position_ids, base=10000.0):
    if position_ids.dim() == 1:
        position_ids = position_ids.unsqueeze(0)
    D = x.shape[-1]
    theta = torch.tensor([base ** (-2 * i / D) for i in range(D // 2)], device=x.device)
    angles = position_ids[:, None, :, None] * theta
    cos, sin = torch.cos(angles), torch.sin(angles)
    out = torch.empty_like(x, memory_format=torch.contiguous_format)
    out[..., 0::2] = x[..., 0::2] * cos - x[..., 1::2] * sin
    out[..., 1::2] = x[..., 0::2] * sin + x[..., 1::2] * cos
    return out
