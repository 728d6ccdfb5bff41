"""Build a 2 x 2 matrix for every position and pair in float64, and apply it with einsum.

float64 is more accurate, but takes twice the memory of float32 and is slow on most GPUs. The
matrices hold twice as many numbers as cosines and sines.
"""

import torch


def apply_rope_interleaved(x, position_ids, base=10000.0):
    *_, length, dim = x.shape
    pair = torch.arange(dim // 2, dtype=torch.float64, device=x.device)
    angles = position_ids.double()[..., None] * torch.pow(base, -2.0 * pair / dim)
    cos, sin = angles.cos(), angles.sin()
    matrix = torch.stack((torch.stack((cos, -sin), -1), torch.stack((sin, cos), -1)), -2)
    points = x.reshape(*x.shape[:-1], dim // 2, 2).double()
    if position_ids.dim() == 1:
        turned = torch.einsum("lprc,bhlpc->bhlpr", matrix, points)
    else:
        turned = torch.einsum("blprc,bhlpc->bhlpr", matrix, points)
    return turned.reshape(x.shape).to(x.dtype)
