# mistakes: exponent-i-over-d
"""Complex numbers for the pairs, a table of heads to index with, rates by exp and log."""

import math

import torch
from torch import nn


def rotate(t, cis):
    a, b = t.double().chunk(2, dim=-1)
    z = torch.complex(a, b) * cis
    return torch.cat((z.real, z.imag), dim=-1).to(t.dtype)


class LlamaAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, max_seq_len=2048, rope_base=10000.0):
        super().__init__()
        d, rest = divmod(d_model, num_heads)
        if rest != 0:
            raise ValueError(f"{d_model} features, {num_heads} heads")
        if num_heads % num_kv_heads != 0:
            raise ValueError(f"{num_heads} heads, {num_kv_heads} key/value heads")
        self.d = d
        self.W_q = nn.Linear(d_model, num_heads * d, bias=False)
        self.W_k = nn.Linear(d_model, num_kv_heads * d, bias=False)
        self.W_v = nn.Linear(d_model, num_kv_heads * d, bias=False)
        self.W_o = nn.Linear(num_heads * d, d_model, bias=False)
        self.kv_of = [h // (num_heads // num_kv_heads) for h in range(num_heads)]
        rates = torch.exp(-math.log(rope_base) * torch.arange(d // 2, dtype=torch.float64) / d)  # first wrong
        angles = torch.arange(max_seq_len, dtype=torch.float64).unsqueeze(1) * rates
        self.cis = torch.polar(torch.ones_like(angles), angles)

    def forward(self, x, mask=None, position_ids=None):
        B, L, M = x.shape
        cis = self.cis.to(x.device)
        cis = cis[None, :L] if position_ids is None else cis[position_ids]
        cis = cis.unsqueeze(2)
        q = rotate(self.W_q(x).reshape(B, L, -1, self.d), cis).permute(0, 2, 1, 3)
        k = rotate(self.W_k(x).reshape(B, L, -1, self.d), cis)[:, :, self.kv_of].permute(0, 2, 3, 1)
        v = self.W_v(x).reshape(B, L, -1, self.d)[:, :, self.kv_of].permute(0, 2, 1, 3)
        logits = torch.matmul(q, k) / math.sqrt(self.d)
        if mask is not None:
            logits = logits.masked_fill(mask.logical_not(), -math.inf)
        return self.W_o(torch.matmul(logits.softmax(dim=-1), v).permute(0, 2, 1, 3).reshape(B, L, M))
