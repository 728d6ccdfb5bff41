"""Rotate pairs as complex numbers, and give the queries an axis for the group.

The einsum needs no copies of k and v for the query heads. The price is a copy of q and k in a
different order, because view_as_complex needs both numbers of a pair next to each other.
"""

import torch
import torch.nn as nn


def precompute_freqs_cis(dim: int, end: int, theta: float) -> torch.Tensor:
    freqs = 1.0 / (theta ** (torch.arange(0, dim, 2)[: (dim // 2)].float() / dim))
    t = torch.arange(end, dtype=torch.float32)
    return torch.polar(torch.ones(end, dim // 2), torch.outer(t, freqs))


def apply_rotary_emb(t: torch.Tensor, freqs_cis: torch.Tensor) -> torch.Tensor:
    wide = t if t.dtype == torch.float64 else t.float()
    z = torch.view_as_complex(wide.unflatten(-1, (2, -1)).transpose(-1, -2).contiguous())
    return torch.view_as_real(z * freqs_cis).transpose(-1, -2).flatten(-2).type_as(t)


class LlamaAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, max_seq_len=2048, rope_base=10000.0):
        super().__init__()
        assert d_model % num_heads == 0, f"{d_model} % {num_heads}"
        assert num_heads % num_kv_heads == 0, f"{num_heads} % {num_kv_heads}"
        self.n_kv_heads, self.n_rep, self.head_dim = num_kv_heads, num_heads // num_kv_heads, d_model // num_heads
        self.wq = nn.Linear(d_model, d_model, bias=False)
        self.wk = nn.Linear(d_model, num_kv_heads * self.head_dim, bias=False)
        self.wv = nn.Linear(d_model, num_kv_heads * self.head_dim, bias=False)
        self.wo = nn.Linear(d_model, d_model, bias=False)
        # no buffer: a cast of the module would throw the imaginary part away
        self.freqs_cis = precompute_freqs_cis(self.head_dim, max_seq_len, rope_base)

    def forward(self, x, mask=None, position_ids=None):
        bsz, seqlen, _ = x.shape
        cis = self.freqs_cis.to(x.device)
        cis = cis[:seqlen][None] if position_ids is None else cis[position_ids]
        xq = self.wq(x).view(bsz, seqlen, self.n_kv_heads * self.n_rep, self.head_dim)
        xk = self.wk(x).view(bsz, seqlen, self.n_kv_heads, self.head_dim)
        xv = self.wv(x).view(bsz, seqlen, self.n_kv_heads, self.head_dim)
        xq, xk = apply_rotary_emb(xq, cis[:, :, None]), apply_rotary_emb(xk, cis[:, :, None])
        xq = xq.view(bsz, seqlen, self.n_kv_heads, self.n_rep, self.head_dim)
        scores = torch.einsum("bigrd,bjgd->bgrij", xq, xk) * self.head_dim**-0.5
        if mask is not None:
            full = mask.expand(bsz, self.n_kv_heads * self.n_rep, seqlen, seqlen)
            scores = scores.masked_fill(~full.unflatten(1, (self.n_kv_heads, self.n_rep)), float("-inf"))
        weights = torch.softmax(scores.float(), dim=-1).type_as(xv)
        return self.wo(torch.einsum("bgrij,bjgd->bigrd", weights, xv).reshape(bsz, seqlen, -1))
