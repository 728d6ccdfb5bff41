"""Write even and odd features into an empty result instead of stacking them.

This avoids the stacked tensor and the cast at the end. The frequencies come from a Python loop of
D/2 steps in every call.
"""

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
