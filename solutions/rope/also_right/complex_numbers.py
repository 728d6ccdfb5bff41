"""Treat the two halves of a head as real and imaginary parts: a rotation is one complex product.

Only half of the table columns are read, but converting to complex numbers and back copies queries
and keys. torch.compile generates no fused code for complex numbers.
"""

import torch


def rope_cos_sin(head_dim: int, max_seq_len: int, base: float = 10000.0):
    freqs = 1.0 / (base ** (torch.arange(0, head_dim, 2).float() / head_dim))
    freqs_cis = torch.polar(torch.ones(max_seq_len, head_dim // 2), torch.outer(torch.arange(max_seq_len).float(), freqs))
    freqs_cis = freqs_cis.repeat(1, 2)
    return freqs_cis.real, freqs_cis.imag


def to_complex(x):
    half = x.shape[-1] // 2
    wide = x.float() if x.dtype in (torch.bfloat16, torch.float16) else x
    return torch.complex(wide[..., :half], wide[..., half:])


def from_complex(z, dtype):
    return torch.cat([z.real, z.imag], dim=-1).to(dtype)


def apply_rope(q, k, cos, sin, position_ids=None):
    half = q.size(-1) // 2
    turn = torch.complex(cos[:, :half].contiguous(), sin[:, :half].contiguous())
    turn = turn[: q.size(-2)] if position_ids is None else turn[position_ids].unsqueeze(1)
    return from_complex(to_complex(q) * turn, q.dtype), from_complex(to_complex(k) * turn, k.dtype)
