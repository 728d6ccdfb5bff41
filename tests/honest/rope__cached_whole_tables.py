"""functools.cache on rope_cos_sin itself; index_select; one helper for q and k."""
from functools import cache
import torch


@cache
def rope_cos_sin(head_dim: int, max_seq_len: int, base: float = 10000.0):
    inv_freq = torch.pow(base, -torch.arange(0, head_dim, 2).float() / head_dim)
    t = torch.arange(max_seq_len, dtype=torch.float32)
    freqs = torch.outer(t, inv_freq)
    emb = freqs.repeat(1, 2)
    return emb.cos(), emb.sin()


def _turn(x, cos, sin):
    x1, x2 = x.float().split(x.shape[-1] // 2, dim=-1)
    c, s = cos.chunk(2, -1)[0], sin.chunk(2, -1)[0]
    return torch.cat([x1 * c - x2 * s, x2 * c + x1 * s], dim=-1).type_as(x)


def apply_rope(q, k, cos, sin, position_ids=None):
    B, _, L, D = q.shape
    if position_ids is None:
        position_ids = torch.arange(L, device=q.device).expand(B, L)
    flat = position_ids.reshape(-1)
    cos, sin = (t.index_select(0, flat).view(B, 1, L, D) for t in (cos, sin))
    return _turn(q, cos, sin), _turn(k, cos, sin)
