# mistakes: frequencies-reversed, sine-and-cosine-exchanged
"""Frequencies from logspace; cosine and sine written twice over D columns, the sine with its signs."""

import torch


def apply_rope_interleaved(x, position_ids, base=10000.0):
    D = x.shape[-1]
    rates = torch.logspace(2 / D - 1, 0, D // 2, base=base, dtype=torch.float64, device=x.device)  # first wrong
    phase = torch.einsum("...l,i->...li", position_ids.double(), rates)
    phase = phase[..., None].expand(*phase.shape, 2).flatten(-2)
    signs = torch.tensor([-1.0, 1.0], dtype=torch.float64, device=x.device).repeat(D // 2)
    own, other = torch.sin(phase), torch.cos(phase) * signs  # also wrong
    if position_ids.dim() != 1:
        own, other = own.unsqueeze(1), other.unsqueeze(1)
    swapped = x.unflatten(-1, (-1, 2)).flip(-1).flatten(-2)
    return torch.addcmul(x * own, swapped, other).to(x.dtype)
