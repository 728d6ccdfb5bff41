# mistakes: positions-from-zero
# diagnosis: line elsewhere
"""DeepSeek's absorbed form: complex frequencies, einsum over latents, a triangle of -inf."""

import torch
from torch import nn


def precompute_freqs_cis(dim, seqlen, base):
    freqs = 1.0 / (base ** (torch.arange(0, dim, 2, dtype=torch.float32) / dim))
    freqs = torch.outer(torch.arange(seqlen), freqs)
    return torch.polar(torch.ones_like(freqs), freqs)


def apply_rotary_emb(x, freqs_cis):
    y = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    y = y * freqs_cis.view(1, x.size(1), 1, y.size(-1))
    return torch.view_as_real(y).flatten(3).to(x.dtype)


class CachedMultiHeadLatentAttention(nn.Module):
    def __init__(
        self, d_model, num_heads, q_rank, kv_rank, nope_dim, rope_dim, v_dim, rope_base=10000.0
    ):
        super().__init__()
        self.n_heads = num_heads
        self.qk_rope_head_dim = rope_dim
        self.kv_lora_rank = kv_rank
        self.rope_base = rope_base
        self.softmax_scale = (nope_dim + rope_dim) ** -0.5
        self.q_down = nn.Linear(d_model, q_rank, bias=False)
        self.q_up = nn.Linear(q_rank, num_heads * nope_dim, bias=False)
        self.q_rope = nn.Linear(q_rank, num_heads * rope_dim, bias=False)
        self.kv_down = nn.Linear(d_model, kv_rank, bias=False)
        self.k_up = nn.Linear(kv_rank, num_heads * nope_dim, bias=False)
        self.v_up = nn.Linear(kv_rank, num_heads * v_dim, bias=False)
        self.k_rope = nn.Linear(d_model, rope_dim, bias=False)
        self.o_proj = nn.Linear(num_heads * v_dim, d_model, bias=False)

    def forward(self, x, cache=None):
        bsz, seqlen, _ = x.size()
        start_pos = cache[0].size(1) if cache is not None else 0
        end_pos = start_pos + seqlen
        freqs_cis = precompute_freqs_cis(self.qk_rope_head_dim, end_pos, self.rope_base)[
            :seqlen
        ]  # first wrong
        low = self.q_down(x)
        q_nope = self.q_up(low).view(bsz, seqlen, self.n_heads, -1)
        q_pe = self.q_rope(low).view(bsz, seqlen, self.n_heads, -1)
        q_pe = apply_rotary_emb(q_pe, freqs_cis)
        kv = self.kv_down(x)
        k_pe = apply_rotary_emb(self.k_rope(x).unsqueeze(2), freqs_cis).squeeze(2)
        if cache is not None:
            kv = torch.cat([cache[0], kv], dim=1)
            k_pe = torch.cat([cache[1], k_pe], dim=1)
        w_uk = self.k_up.weight.view(self.n_heads, -1, self.kv_lora_rank)
        w_uv = self.v_up.weight.view(self.n_heads, -1, self.kv_lora_rank)
        q_nope = torch.einsum("bshd,hdc->bshc", q_nope, w_uk)
        scores = torch.einsum("bshc,btc->bsht", q_nope, kv) + torch.einsum(
            "bshr,btr->bsht", q_pe, k_pe
        )
        scores = scores * self.softmax_scale
        mask = torch.full((seqlen, end_pos), float("-inf"), dtype=x.dtype).triu_(start_pos + 1)
        scores = (scores + mask.unsqueeze(1)).softmax(dim=-1, dtype=torch.float32).type_as(x)
        y = torch.einsum("bsht,btc->bshc", scores, kv)
        y = torch.einsum("bshc,hdc->bshd", y, w_uv)
        return self.o_proj(y.flatten(2)), (kv, k_pe)
