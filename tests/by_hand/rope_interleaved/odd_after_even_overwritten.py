# mistakes: first-overwritten-too-early
"""The second coordinate is made from the first one after its turn."""

import torch


def apply_rope_interleaved(x, position_ids, base=10000.0):
    head_dim = x.size(-1)
    half = head_dim // 2
    dev = x.device

    # angles
    index = torch.arange(half, device=dev)
    freq = base ** (-2.0 * index / head_dim)
    pos = position_ids.to(torch.float32)
    if pos.ndim == 1:
        pos = pos[None, None, :, None]
    else:
        pos = pos[:, None, :, None]
    angle = pos * freq
    c = torch.cos(angle)
    s = torch.sin(angle)

    # turn
    even = x[..., 0::2].to(torch.float32)
    odd = x[..., 1::2].to(torch.float32)
    even = even * c - odd * s
    odd = odd * c + even * s  # first wrong

    # write back
    out = torch.empty(x.shape, dtype=even.dtype, device=dev)
    out[..., 0::2] = even
    out[..., 1::2] = odd
    return out.to(x.dtype)
