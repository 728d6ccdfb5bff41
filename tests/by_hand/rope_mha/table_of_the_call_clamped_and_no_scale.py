# mistakes: positions-clamped, no-scale
"""The table of cosines and sines is made anew in every call; even the softmax is spelled out."""

import torch
from torch import nn


class RoPEMultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, max_seq_len=2048, rope_base=10000.0, dropout=0.0, bias=True):
        super().__init__()
        if d_model % num_heads:
            raise ValueError("d_model must be a multiple of num_heads")
        self.nheads = num_heads
        self.nrows = max_seq_len
        self.rbase = rope_base
        self.wqkv = nn.Linear(d_model, 3 * d_model, bias=bias)
        self.wo = nn.Linear(d_model, d_model, bias=bias)
        self.drop = nn.Dropout(dropout)

    def table(self, rows, half, device):
        i = torch.arange(half, dtype=torch.float64, device=device)
        t = torch.arange(rows, dtype=torch.float64, device=device)
        ang = t[:, None] * self.rbase ** (-i / half)
        return torch.stack((ang.cos(), ang.sin()))

    def forward(self, x, mask=None, position_ids=None):
        bsz, seqlen, dim = x.shape
        head = dim // self.nheads
        half = head // 2
        if position_ids is None:
            position_ids = torch.arange(seqlen, device=x.device)[None]
        index = position_ids.clamp(max=seqlen - 1)  # first wrong
        tab = self.table(self.nrows, half, x.device)
        tab = tab[:, index].unsqueeze(2).to(x.dtype)
        cos = tab[0]
        sin = tab[1]

        qkv = self.wqkv(x)
        qkv = qkv.view(bsz, seqlen, 3 * self.nheads, head)
        qkv = qkv.transpose(1, 2)
        xq, xk, xv = qkv.split(self.nheads, dim=1)
        q1, q2 = xq[..., :half], xq[..., half:]
        k1, k2 = xk[..., :half], xk[..., half:]
        q1, q2 = q1 * cos - q2 * sin, q2 * cos + q1 * sin
        k1, k2 = k1 * cos - k2 * sin, k2 * cos + k1 * sin

        scores = q1 @ k1.mT + q2 @ k2.mT
        if mask is not None:
            scores = scores.masked_fill(~mask, float("-inf"))
        scores = scores - scores.amax(-1, keepdim=True)  # also wrong
        expd = scores.exp()
        probs = expd / expd.sum(-1, keepdim=True)
        probs = self.drop(probs)

        out = torch.einsum("bhqk,bhkd->bqhd", probs, xv)
        out = out.reshape(bsz, seqlen, dim)
        return self.wo(out)
