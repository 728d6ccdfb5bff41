# mistakes: only-new-returned
"""The cache handed back holds only the new tokens, not the past before them."""

import torch
from torch import nn
from torch.nn.functional import softmax


class CachedGroupedQueryAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, bias=False):
        super().__init__()
        if d_model % num_heads != 0 or num_heads % num_kv_heads != 0:
            raise ValueError((d_model, num_heads, num_kv_heads))
        self.H, self.N, self.D = num_heads, num_kv_heads, d_model // num_heads
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = (
            nn.Linear(d_model, width, bias=bias) for width in (d_model, self.N * self.D, self.N * self.D, d_model)
        )

    def forward(self, x, past_kv=None, use_cache=False):
        B, L, M = x.shape
        q, k_new, v_new = (proj(x).view(B, L, -1, self.D).transpose(1, 2) for proj in (self.q_proj, self.k_proj, self.v_proj))
        k, v = (k_new, v_new) if past_kv is None else (torch.cat(pair, dim=2) for pair in zip(past_kv, (k_new, v_new)))
        S = k.shape[2]
        kk, vv = (t.repeat_interleave(self.H // self.N, dim=1) for t in (k, v))
        dots = torch.einsum("bhqd,bhkd->bhqk", q, kk) * self.D**-0.5
        visible = torch.arange(S, device=x.device) <= torch.arange(S - L, S, device=x.device)[:, None]
        attn = softmax(dots.masked_fill(~visible, -torch.inf), dim=-1)
        out = self.o_proj(torch.einsum("bhqk,bhkd->bqhd", attn, vv).reshape(B, L, M))
        if use_cache:
            return out, (k_new, v_new)  # first wrong
        return out
