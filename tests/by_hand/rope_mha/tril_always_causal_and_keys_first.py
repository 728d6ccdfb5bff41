# mistakes: keys-before-queries, always-causal
"""As in minGPT: a triangular buffer, one c_attn; rotation matrices of 2 x 2 laid out as [.., D/2, 2, 2]."""

import math

import torch
from torch import nn


class RoPEMultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, max_seq_len=2048, rope_base=10000.0, dropout=0.0, bias=True):
        super().__init__()
        if not d_model % num_heads == 0:
            raise ValueError("n_embd % n_head != 0")
        self.c_attn = nn.Linear(d_model, 3 * d_model, bias=bias)
        self.c_proj = nn.Linear(d_model, d_model, bias=bias)
        self.attn_dropout = nn.Dropout(dropout)
        self.n_head, self.n_embd = num_heads, d_model
        self.theta = rope_base
        self.block_size = max_seq_len

    def matrices(self, pos):
        """[B, L] -> [B, L, D/2, 2, 2]"""
        d = self.n_embd // self.n_head
        freq = torch.tensor([self.theta ** (-2 * i / d) for i in range(d // 2)], device=pos.device)
        ang = pos[..., None] * freq
        c, s = ang.cos(), ang.sin()
        return torch.stack((torch.stack((c, -s), dim=-1), torch.stack((s, c), dim=-1)), dim=-2)

    def turn(self, t, mats):
        pairs = t.unflatten(-1, (2, -1))  # [B, H, L, 2, D/2]
        return torch.einsum("blixy,bhlyi->bhlxi", mats, pairs).flatten(-2)

    def forward(self, x, mask=None, position_ids=None):
        B, T, C = x.size()
        k, q, v = self.c_attn(x).split(self.n_embd, dim=2)  # first wrong
        k = k.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        q = q.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        v = v.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)

        pos = torch.arange(T, device=x.device).expand(B, T) if position_ids is None else position_ids
        mats = self.matrices(pos).to(x.dtype)
        q, k = self.turn(q, mats), self.turn(k, mats)

        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        seen = torch.ones(T, T, dtype=torch.bool, device=x.device).tril()  # also wrong
        if mask is not None:
            seen = seen & mask
        att = att.masked_fill(seen == 0, float("-inf"))
        att = self.attn_dropout(att.softmax(dim=-1))
        y = att @ v
        return self.c_proj(y.transpose(1, 2).contiguous().view(B, T, C))
