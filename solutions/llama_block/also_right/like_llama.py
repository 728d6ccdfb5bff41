"""Use the names of Llama's own code, complex numbers for the rotation, and an added mask.

One complex product rotates all pairs, but complex numbers exist only in float32 and float64, so
bfloat16 is converted there and back. The table has half as many columns as tables of cosines and
sines for every feature.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, dim: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def _norm(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        wide = x if x.dtype == torch.float64 else x.float()
        return self._norm(wide).type_as(x) * self.weight


def turn(x, freqs_cis):
    # x [B, L, heads, D]; the pair (i, i + D/2) is one complex number
    half = x.shape[-1] // 2
    wide = x if x.dtype == torch.float64 else x.float()
    turned = torch.complex(wide[..., :half], wide[..., half:]) * freqs_cis
    return torch.cat((turned.real, turned.imag), dim=-1).type_as(x)


def repeat_kv(x, n_rep):
    bs, slen, n_kv_heads, head_dim = x.shape
    if n_rep == 1:
        return x
    return x[:, :, :, None, :].expand(bs, slen, n_kv_heads, n_rep, head_dim).reshape(bs, slen, n_kv_heads * n_rep, head_dim)


class Attention(nn.Module):
    def __init__(self, dim, n_heads, n_kv_heads, head_dim):
        super().__init__()
        self.n_heads, self.n_kv_heads, self.head_dim = n_heads, n_kv_heads, head_dim
        self.wq = nn.Linear(dim, n_heads * self.head_dim, bias=False)
        self.wk = nn.Linear(dim, n_kv_heads * self.head_dim, bias=False)
        self.wv = nn.Linear(dim, n_kv_heads * self.head_dim, bias=False)
        self.wo = nn.Linear(n_heads * self.head_dim, dim, bias=False)

    def forward(self, x, freqs_cis, mask):
        bsz, seqlen, _ = x.shape
        xq = turn(self.wq(x).view(bsz, seqlen, self.n_heads, self.head_dim), freqs_cis)
        xk = turn(self.wk(x).view(bsz, seqlen, self.n_kv_heads, self.head_dim), freqs_cis)
        xv = self.wv(x).view(bsz, seqlen, self.n_kv_heads, self.head_dim)
        keys = repeat_kv(xk, self.n_heads // self.n_kv_heads).transpose(1, 2)
        values = repeat_kv(xv, self.n_heads // self.n_kv_heads).transpose(1, 2)
        scores = torch.matmul(xq.transpose(1, 2), keys.transpose(2, 3)) / math.sqrt(self.head_dim)
        scores = F.softmax(scores + mask, dim=-1)
        return self.wo(torch.matmul(scores, values).transpose(1, 2).contiguous().view(bsz, seqlen, -1))


class FeedForward(nn.Module):
    def __init__(self, dim, hidden_dim):
        super().__init__()
        self.w1 = nn.Linear(dim, hidden_dim, bias=False)
        self.w2 = nn.Linear(hidden_dim, dim, bias=False)
        self.w3 = nn.Linear(dim, hidden_dim, bias=False)

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class LlamaBlock(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, hidden_dim, head_dim=None, max_seq_len=2048, rope_base=10000.0, eps=1e-6):
        super().__init__()
        if (head_dim is None and d_model % num_heads) or num_heads % num_kv_heads:
            raise ValueError(f"{d_model} features, {num_heads} heads, {num_kv_heads} key/value heads")
        head_dim = d_model // num_heads if head_dim is None else head_dim
        self.attn = Attention(d_model, num_heads, num_kv_heads, head_dim)
        self.mlp = FeedForward(d_model, hidden_dim)
        self.input_norm, self.post_norm = RMSNorm(d_model, eps), RMSNorm(d_model, eps)
        freqs = 1.0 / (rope_base ** (torch.arange(0, head_dim, 2).float() / head_dim))
        freqs = torch.outer(torch.arange(max_seq_len).float(), freqs)
        self.freqs_cis = torch.polar(torch.ones_like(freqs), freqs)  # [T, D/2], complex64

    def forward(self, x, position_ids=None):
        n = x.shape[1]
        rows = self.freqs_cis[:n][None] if position_ids is None else self.freqs_cis[position_ids]
        mask = torch.full((n, n), float("-inf"), dtype=x.dtype, device=x.device).triu(diagonal=1)
        h = x + self.attn(self.input_norm(x), rows.unsqueeze(2), mask)
        return h + self.mlp(self.post_norm(h))
