"""Multiply k_up into the queries and v_up into the result, so that attention runs over the cache.

No key or value of a single head is made, so a decode step reads only latents and rotary keys. Each
score takes kv_rank + Dr products instead of Dn + Dr, which costs more in a long prefill.
"""

import torch
import torch.nn as nn


def precompute_freqs_cis(dim, seqlen, base):
    freqs = 1.0 / (base ** (torch.arange(0, dim, 2, dtype=torch.float32) / dim))
    t = torch.arange(seqlen)
    freqs = torch.outer(t, freqs)
    return torch.polar(torch.ones_like(freqs), freqs)


def apply_rotary_emb(x, freqs_cis):
    dtype = x.dtype
    x = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    freqs_cis = freqs_cis.view(1, x.size(1), 1, x.size(-1))
    y = torch.view_as_real(x * freqs_cis).flatten(3)
    return y.to(dtype)


class CachedMultiHeadLatentAttention(nn.Module):
    def __init__(self, d_model, num_heads, q_rank, kv_rank, nope_dim, rope_dim, v_dim, rope_base=10000.0):
        super().__init__()
        self.n_heads = num_heads
        self.q_lora_rank = q_rank
        self.kv_lora_rank = kv_rank
        self.qk_nope_head_dim = nope_dim
        self.qk_rope_head_dim = rope_dim
        self.qk_head_dim = nope_dim + rope_dim
        self.v_head_dim = v_dim
        self.rope_base = rope_base
        self.q_down = nn.Linear(d_model, q_rank, bias=False)
        self.q_up = nn.Linear(q_rank, num_heads * nope_dim, bias=False)
        self.q_rope = nn.Linear(q_rank, num_heads * rope_dim, bias=False)
        self.kv_down = nn.Linear(d_model, kv_rank, bias=False)
        self.k_up = nn.Linear(kv_rank, num_heads * nope_dim, bias=False)
        self.v_up = nn.Linear(kv_rank, num_heads * v_dim, bias=False)
        self.k_rope = nn.Linear(d_model, rope_dim, bias=False)
        self.o_proj = nn.Linear(num_heads * v_dim, d_model, bias=False)
        self.softmax_scale = self.qk_head_dim ** -0.5

    def forward(self, x, cache=None):
        bsz, seqlen, _ = x.size()
        start_pos = 0 if cache is None else cache[0].size(1)
        end_pos = start_pos + seqlen
        freqs_cis = precompute_freqs_cis(self.qk_rope_head_dim, end_pos, self.rope_base).to(x.device)
        freqs_cis = freqs_cis[start_pos:end_pos]
        mask = None
        if seqlen > 1:
            mask = torch.full((seqlen, end_pos), float("-inf"), device=x.device).triu_(start_pos + 1)
        qr = self.q_down(x)
        q_nope = self.q_up(qr).view(bsz, seqlen, self.n_heads, self.qk_nope_head_dim)
        q_pe = self.q_rope(qr).view(bsz, seqlen, self.n_heads, self.qk_rope_head_dim)
        q_pe = apply_rotary_emb(q_pe, freqs_cis)
        kv = self.kv_down(x)
        k_pe = apply_rotary_emb(self.k_rope(x).unsqueeze(2), freqs_cis).squeeze(2)
        if cache is not None:
            kv = torch.cat([cache[0], kv], dim=1)
            k_pe = torch.cat([cache[1], k_pe], dim=1)
        wk = self.k_up.weight.view(self.n_heads, -1, self.kv_lora_rank)
        wv = self.v_up.weight.view(self.n_heads, -1, self.kv_lora_rank)
        q_nope = torch.einsum("bshd,hdc->bshc", q_nope, wk)
        scores = (torch.einsum("bshc,btc->bsht", q_nope, kv) +
                  torch.einsum("bshr,btr->bsht", q_pe, k_pe)) * self.softmax_scale
        if mask is not None:
            scores += mask.unsqueeze(1)
        scores = scores.softmax(dim=-1, dtype=torch.float32).type_as(x)
        x = torch.einsum("bsht,btc->bshc", scores, kv)
        x = torch.einsum("bshc,hdc->bshd", x, wv)
        x = self.o_proj(x.flatten(2))
        return x, (kv, k_pe)
