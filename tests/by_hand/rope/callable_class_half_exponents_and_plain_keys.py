# mistakes: exponent-i-over-d, keys-not-rotated
"""A small callable class holds the looked-up tables; queries and keys go through it side by side."""

import torch


class Rotator:
    def __init__(self, cos, sin, rows):
        self.cos = cos[rows].unsqueeze(-3)
        self.sin = sin[rows].unsqueeze(-3)

    def __call__(self, x):
        d = x.shape[-1]
        a, b = torch.narrow(x, -1, 0, d // 2), torch.narrow(x, -1, d // 2, d // 2)
        c, s = self.cos[..., : d // 2], self.sin[..., : d // 2]
        return torch.cat([a * c - b * s, a * s + b * c], dim=-1).type(x.dtype)


def rope_cos_sin(head_dim, max_seq_len, base=10000.0):
    inv_freq = base ** (-torch.arange(head_dim // 2) / head_dim)  # first wrong
    freqs = torch.einsum("i,j->ij", torch.arange(max_seq_len).float(), inv_freq)
    emb = torch.cat((freqs,) * 2, dim=-1)
    return emb.cos(), emb.sin()


def apply_rope(q, k, cos, sin, position_ids=None):
    rows = slice(0, q.shape[2]) if position_ids is None else position_ids
    rotate = Rotator(cos, sin, rows)
    n_heads = q.shape[1]
    heads = rotate(torch.cat((q, k), dim=1))
    return heads[:, :n_heads], k  # also wrong
