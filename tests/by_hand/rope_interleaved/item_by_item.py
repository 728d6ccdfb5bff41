# mistakes: loop-over-batch
"""The rotation of one line of positions is a function; a batch of lines calls it item by item."""

import torch


def cos_sin(line, dim, base):
    steps = torch.arange(0, dim, 2, dtype=torch.float32, device=line.device)
    angles = torch.outer(line.float(), torch.pow(float(base), -steps / dim))
    return torch.cos(angles), torch.sin(angles)


def turn(x, line, base):
    cos, sin = cos_sin(line, x.shape[-1], base)
    out = torch.zeros_like(x)
    out[..., 0::2] = x[..., 0::2] * cos - x[..., 1::2] * sin
    out[..., 1::2] = x[..., 0::2] * sin + x[..., 1::2] * cos
    return out


def apply_rope_interleaved(x, position_ids, base=10000.0):
    if position_ids.dim() == 1:
        return turn(x, position_ids, base)
    items = []
    for item, line in zip(x, position_ids):  # first wrong
        items.append(turn(item, line, base))
    return torch.stack(items)
