# mistakes: mask-filled-with-minus-100
"""The mask as arithmetic, keys and values out of one layer, weights as exp of score minus logsumexp."""

import math

import torch
import torch.nn as nn


def repeat_kv(x: torch.Tensor, n_rep: int) -> torch.Tensor:
    """[B, L, Hkv, D] -> [B, Hkv * n_rep, L, D]"""
    bs, slen, n_kv_heads, head_dim = x.shape
    x = x[:, :, :, None, :].expand(bs, slen, n_kv_heads, n_rep, head_dim)
    return x.reshape(bs, slen, n_kv_heads * n_rep, head_dim).transpose(1, 2)


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, dropout=0.0, bias=True):
        super().__init__()
        assert d_model % num_heads == 0, "d_model must be a multiple of num_heads"
        assert num_heads % num_kv_heads == 0, "num_heads must be a multiple of num_kv_heads"
        self.n_heads = num_heads
        self.n_kv_heads = num_kv_heads
        self.n_rep = num_heads // num_kv_heads
        self.head_dim = d_model // num_heads
        self.q_proj = nn.Linear(d_model, d_model, bias=bias)
        self.kv_proj = nn.Linear(d_model, 2 * num_kv_heads * self.head_dim, bias=bias)
        self.o_proj = nn.Linear(d_model, d_model, bias=bias)
        self.attn_dropout = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        bs, slen, _ = x.shape
        xq = self.q_proj(x).view(bs, slen, self.n_heads, self.head_dim).transpose(1, 2)
        xk, xv = self.kv_proj(x).chunk(2, dim=-1)
        xk = repeat_kv(xk.unflatten(-1, (self.n_kv_heads, -1)), self.n_rep)
        xv = repeat_kv(xv.unflatten(-1, (self.n_kv_heads, -1)), self.n_rep)
        scores = torch.matmul(xq, xk.transpose(2, 3)) / math.sqrt(self.head_dim)
        if mask is not None:
            allowed = mask.to(scores.dtype)
            scores = scores * allowed - 100.0 * (1 - allowed)  # first wrong
        probs = (scores - scores.logsumexp(dim=-1, keepdim=True)).exp()
        output = torch.matmul(self.attn_dropout(probs), xv)
        output = output.transpose(1, 2).contiguous().view(bs, slen, -1)
        return self.o_proj(output)
