"""Rotate pairs as complex numbers, from a table that grows and that no cast of the module changes.

Each pair takes one complex product, but q and k are rotated in float32 for every dtype, so float64
loses accuracy. The check of the largest position makes the host wait for a GPU.
"""

import torch
from torch import nn


def precompute_freqs_cis(dim: int, end: int, theta: float) -> torch.Tensor:
    freqs = 1.0 / (theta ** (torch.arange(0, dim, 2)[: (dim // 2)].float() / dim))
    return torch.polar(torch.ones(end, dim // 2), torch.outer(torch.arange(end).float(), freqs))


def apply_rotary_emb(x: torch.Tensor, freqs_cis: torch.Tensor) -> torch.Tensor:
    x_ = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(x_ * freqs_cis).flatten(3).type_as(x)


class MultiHeadLatentAttention(nn.Module):
    def __init__(self, d_model, num_heads, q_rank, kv_rank, nope_dim, rope_dim, v_dim, rope_base=10000.0):
        super().__init__()
        self.n_heads, self.nope_dim, self.rope_dim, self.v_dim = num_heads, nope_dim, rope_dim, v_dim
        self.q_down = nn.Linear(d_model, q_rank, bias=False)
        self.q_up = nn.Linear(q_rank, num_heads * nope_dim, bias=False)
        self.q_rope = nn.Linear(q_rank, num_heads * rope_dim, bias=False)
        self.kv_down = nn.Linear(d_model, kv_rank, bias=False)
        self.k_up = nn.Linear(kv_rank, num_heads * nope_dim, bias=False)
        self.v_up = nn.Linear(kv_rank, num_heads * v_dim, bias=False)
        self.k_rope = nn.Linear(d_model, rope_dim, bias=False)
        self.o_proj = nn.Linear(num_heads * v_dim, d_model, bias=False)
        self.rope_base = rope_base
        self.freqs_cis = precompute_freqs_cis(rope_dim, 64, rope_base)

    def forward(self, x, mask=None, position_ids=None):
        bsz, seqlen, _ = x.size()
        if position_ids is None:
            position_ids = torch.arange(seqlen, device=x.device).expand(bsz, seqlen)
        needed = int(position_ids.max()) + 1
        if needed > len(self.freqs_cis):
            self.freqs_cis = precompute_freqs_cis(self.rope_dim, needed, self.rope_base)
        freqs_cis = self.freqs_cis.to(x.device)[position_ids].unsqueeze(2)  # [B, L, 1, Dr/2]
        c_q, c_kv = self.q_down(x), self.kv_down(x)
        q_nope = self.q_up(c_q).view(bsz, seqlen, self.n_heads, self.nope_dim)
        q_pe = apply_rotary_emb(self.q_rope(c_q).view(bsz, seqlen, self.n_heads, self.rope_dim), freqs_cis)
        k_nope = self.k_up(c_kv).view(bsz, seqlen, self.n_heads, self.nope_dim)
        k_pe = apply_rotary_emb(self.k_rope(x).unsqueeze(2), freqs_cis)
        v = self.v_up(c_kv).view(bsz, seqlen, self.n_heads, self.v_dim)
        q = torch.cat([q_nope, q_pe], dim=-1)
        k = torch.cat([k_nope, k_pe.expand(-1, -1, self.n_heads, -1)], dim=-1)
        scores = torch.einsum("bshd,bthd->bhst", q, k) * (self.nope_dim + self.rope_dim) ** -0.5
        if mask is not None:
            scores = scores.masked_fill(~mask, float("-inf"))
        scores = scores.softmax(dim=-1, dtype=torch.float32).type_as(x)
        return self.o_proj(torch.einsum("bhst,bthd->bshd", scores, v).flatten(2))
