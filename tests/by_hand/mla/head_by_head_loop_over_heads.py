# mistakes: loop-over-heads
"""A function for one head, softmax by hand, called head after head."""

import torch
from torch import nn


def linear(i, o):
    return nn.Linear(i, o, bias=False)


def turn(t, pos, base):  # t [..., L, Dr], pos of a shape that broadcasts with [..., L]
    d = t.shape[-1]
    angle = pos[..., None].to(torch.float64) * base ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)
    c, s = angle.cos().to(t.dtype), angle.sin().to(t.dtype)
    x, y = t[..., 0::2], t[..., 1::2]
    return torch.stack((c * x - s * y, s * x + c * y), dim=-1).view_as(t)


def attention(q, k, v, scale, hidden):
    scores = torch.einsum("bid,bjd->bij", q, k) * scale
    if hidden is not None:
        scores = scores.masked_fill(hidden, float("-inf"))
    e = torch.exp(scores - scores.amax(dim=-1, keepdim=True))
    return torch.bmm(e / e.sum(dim=-1, keepdim=True), v)


class MultiHeadLatentAttention(nn.Module):
    def __init__(self, d_model, num_heads, q_rank, kv_rank, nope_dim, rope_dim, v_dim, rope_base=10000.0):
        super().__init__()
        self.num_heads, self.scale, self.rope_base = num_heads, 1 / (nope_dim + rope_dim) ** 0.5, rope_base
        self.q_down, self.kv_down, self.k_rope = linear(d_model, q_rank), linear(d_model, kv_rank), linear(d_model, rope_dim)
        self.q_up, self.q_rope = linear(q_rank, num_heads * nope_dim), linear(q_rank, num_heads * rope_dim)
        self.k_up, self.v_up = linear(kv_rank, num_heads * nope_dim), linear(kv_rank, num_heads * v_dim)
        self.o_proj = linear(num_heads * v_dim, d_model)

    def forward(self, x, mask=None, position_ids=None):
        B, L = x.shape[:2]
        H = self.num_heads
        pos = torch.arange(L)[None] if position_ids is None else position_ids
        hidden = None if mask is None else ~mask.expand(B, H, L, L)
        cq, ckv = self.q_down(x), self.kv_down(x)
        kr = turn(self.k_rope(x), pos, self.rope_base)
        qr = turn(self.q_rope(cq).view(B, L, H, -1).transpose(1, 2).contiguous(), pos[:, None], self.rope_base)
        qn, kn, v = (f(c).view(B, L, H, -1).transpose(1, 2) for f, c in ((self.q_up, cq), (self.k_up, ckv), (self.v_up, ckv)))
        heads = []
        for h in range(H):  # first wrong
            q = torch.cat((qn[:, h], qr[:, h]), dim=-1)
            k = torch.cat((kn[:, h], kr), dim=-1)
            heads.append(attention(q, k, v[:, h], self.scale, None if hidden is None else hidden[:, h]))
        return self.o_proj(torch.cat(heads, dim=-1))
