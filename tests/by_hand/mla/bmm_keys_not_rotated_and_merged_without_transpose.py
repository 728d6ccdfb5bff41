# mistakes: keys-not-rotated, merged-without-transpose
"""bmm with the heads in the batch; the rotary part of the scores first, the other added by baddbmm."""

import torch
from torch import nn


class MultiHeadLatentAttention(nn.Module):
    def __init__(self, d_model, num_heads, q_rank, kv_rank, nope_dim, rope_dim, v_dim, rope_base=10000.0):
        super().__init__()
        self.num_heads = num_heads
        self.rope_dim = rope_dim
        self.v_dim = v_dim
        self.scaling = (nope_dim + rope_dim) ** -0.5
        self.rope_base = rope_base
        self.q_down = nn.Linear(d_model, q_rank, bias=False)
        self.q_up = nn.Linear(q_rank, num_heads * nope_dim, bias=False)
        self.q_rope = nn.Linear(q_rank, num_heads * rope_dim, bias=False)
        self.kv_down = nn.Linear(d_model, kv_rank, bias=False)
        self.k_up = nn.Linear(kv_rank, num_heads * nope_dim, bias=False)
        self.v_up = nn.Linear(kv_rank, num_heads * v_dim, bias=False)
        self.k_rope = nn.Linear(d_model, rope_dim, bias=False)
        self.o_proj = nn.Linear(num_heads * v_dim, d_model, bias=False)

    def fold(self, t):
        """[B, L, H * d] -> [B * H, L, d]"""
        b, n, _ = t.shape
        t = t.view(b, n, self.num_heads, -1)
        return t.transpose(1, 2).reshape(b * self.num_heads, n, -1)

    def rope(self, t, position_ids):
        """t [B * H, L, Dr]"""
        half = self.rope_dim // 2
        freq = self.rope_base ** -(torch.arange(half, dtype=torch.float32, device=t.device) / half)
        angle = position_ids.float().unsqueeze(-1) * freq
        angle = angle.repeat_interleave(t.shape[0] // angle.shape[0], dim=0)
        cos = angle.cos().to(t.dtype)
        sin = angle.sin().to(t.dtype)
        t0 = t[:, :, 0::2]
        t1 = t[:, :, 1::2]
        return torch.stack([t0 * cos - t1 * sin, t1 * cos + t0 * sin], dim=3).flatten(2)

    def forward(self, x, mask=None, position_ids=None):
        bsz, seq, _ = x.size()
        if position_ids is None:
            position_ids = torch.arange(seq, device=x.device).expand(bsz, seq)

        q_latent = self.q_down(x)
        q_pe = self.fold(self.q_rope(q_latent))
        k_pe = self.k_rope(x)
        q_pe = self.rope(q_pe, position_ids)
        scores = torch.bmm(q_pe, k_pe.repeat_interleave(self.num_heads, dim=0).transpose(1, 2))  # first wrong

        kv_latent = self.kv_down(x)
        q = self.fold(self.q_up(q_latent))
        k = self.fold(self.k_up(kv_latent))
        v = self.fold(self.v_up(kv_latent))
        scores = torch.baddbmm(scores, q, k.transpose(1, 2), beta=self.scaling, alpha=self.scaling)
        if mask is not None:
            hidden = mask.logical_not().expand(bsz, self.num_heads, seq, seq)
            scores = scores.masked_fill(hidden.reshape(-1, seq, seq), -float("inf"))
        probs = nn.functional.softmax(scores, dim=2)
        out = torch.bmm(probs, v)
        out = out.reshape(bsz, seq, self.num_heads * self.v_dim)  # also wrong
        return self.o_proj(out)
