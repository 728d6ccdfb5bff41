"""Tables cached by lru_cache, numpy frequencies, F.embedding for the positions, rotate_half by roll."""
from functools import lru_cache
import numpy as np
import torch
import torch.nn.functional as F


@lru_cache(maxsize=8)
def _angles(head_dim, max_seq_len, base):
    inv_freq = 1.0 / (base ** (np.arange(0, head_dim, 2, dtype=np.float64) / head_dim))
    freqs = np.outer(np.arange(max_seq_len), inv_freq)
    return torch.from_numpy(np.concatenate([freqs, freqs], axis=-1)).float()


def rope_cos_sin(head_dim, max_seq_len, base=10000.0):
    if head_dim % 2:
        raise ValueError(f"head_dim must be even, got {head_dim}")
    a = _angles(head_dim, max_seq_len, float(base))
    return a.cos(), a.sin()


def rotate_half(x):
    half = x.shape[-1] // 2
    sign = torch.ones(x.shape[-1], dtype=x.dtype, device=x.device)
    sign[:half] = -1
    return x.roll(half, dims=-1) * sign


def apply_rope(q, k, cos, sin, position_ids=None):
    L = q.size(-2)
    if position_ids is None:
        cos, sin = cos[:L], sin[:L]
    else:
        cos, sin = (F.embedding(position_ids, t).unsqueeze(1) for t in (cos, sin))
    return tuple((x.float() * cos + rotate_half(x.float()) * sin).to(x.dtype) if x.dtype == torch.bfloat16
                 else (x * cos.to(x.dtype) + rotate_half(x) * sin.to(x.dtype)) for x in (q, k))
