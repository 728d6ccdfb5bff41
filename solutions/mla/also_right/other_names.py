"""Put the layers into two modules with the paper's names, and rotate each pair by a 2 x 2 matrix.

The matrices hold four numbers for each pair, twice as many as cosine and sine. Queries and keys are
not joined, which saves their copies, but adding two products makes more tensors of the size of the
scores.
"""

import torch
import torch.nn.functional as F
from torch import nn


def rope(x, positions, base):
    """x [..., L, D] with positions [..., L]: pairs as rows of 2, turned by matrices."""
    half = x.shape[-1] // 2
    angle = positions.unsqueeze(-1).float() * base ** (-torch.arange(half, device=x.device).float() / half)
    matrix = torch.stack([angle.cos(), -angle.sin(), angle.sin(), angle.cos()], dim=-1).unflatten(-1, (2, 2))
    pairs = x.float().unflatten(-1, (half, 2)) if x.dtype == torch.bfloat16 else x.unflatten(-1, (half, 2))
    return torch.einsum("...ij,...j->...i", matrix.to(pairs.dtype), pairs).flatten(-2).to(x.dtype)


class Queries(nn.Module):
    def __init__(self, d_model, rank, heads, nope, rope_dim):
        super().__init__()
        self.w_dq = nn.Linear(d_model, rank, bias=False)
        self.w_uq = nn.Linear(rank, heads * nope, bias=False)
        self.w_qr = nn.Linear(rank, heads * rope_dim, bias=False)

    def forward(self, x):
        latent = self.w_dq(x)
        return self.w_uq(latent), self.w_qr(latent)


class KeysAndValues(nn.Module):
    def __init__(self, d_model, rank, heads, nope, rope_dim, v_dim):
        super().__init__()
        self.w_dkv = nn.Linear(d_model, rank, bias=False)
        self.w_uk = nn.Linear(rank, heads * nope, bias=False)
        self.w_uv = nn.Linear(rank, heads * v_dim, bias=False)
        self.w_kr = nn.Linear(d_model, rope_dim, bias=False)

    def forward(self, x):
        latent = self.w_dkv(x)
        return self.w_uk(latent), self.w_kr(x), self.w_uv(latent)


class MultiHeadLatentAttention(nn.Module):
    def __init__(self, d_model, num_heads, q_rank, kv_rank, nope_dim, rope_dim, v_dim, rope_base=10000.0):
        super().__init__()
        self.heads, self.base, self.width = num_heads, rope_base, nope_dim + rope_dim
        self.queries = Queries(d_model, q_rank, num_heads, nope_dim, rope_dim)
        self.keys_and_values = KeysAndValues(d_model, kv_rank, num_heads, nope_dim, rope_dim, v_dim)
        self.w_o = nn.Linear(num_heads * v_dim, d_model, bias=False)

    def forward(self, x, mask=None, position_ids=None):
        b, n, _ = x.shape
        if position_ids is None:
            position_ids = torch.arange(n, device=x.device).repeat(b, 1)
        qc, qr = (part.view(b, n, self.heads, -1).transpose(1, 2) for part in self.queries(x))
        kc, kr, v = self.keys_and_values(x)
        kc, v = (part.view(b, n, self.heads, -1).transpose(1, 2) for part in (kc, v))
        qr = rope(qr, position_ids[:, None].expand(b, self.heads, n), self.base)
        kr = rope(kr, position_ids, self.base)
        s = torch.einsum("bhid,bhjd->bhij", qc, kc) + torch.einsum("bhid,bjd->bhij", qr, kr)
        s = s.float() / self.width**0.5
        if mask is not None:
            s = s.masked_fill(mask.logical_not(), -torch.inf)
        out = torch.einsum("bhij,bhjd->bihd", F.softmax(s, dim=-1).to(v.dtype), v)
        return self.w_o(out.flatten(2))
