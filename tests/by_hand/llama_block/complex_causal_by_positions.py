# mistakes: causal-by-position-ids
"""Complex numbers for the rotation, and a mask from the positions of the call."""

import torch
import torch.nn.functional as F
from torch import nn


class RMS(nn.Module):
    def __init__(self, size, eps):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(size))

    def forward(self, t):
        wide = t.to(torch.promote_types(t.dtype, torch.float32))
        return (wide / torch.sqrt((wide * wide).mean(-1, keepdim=True) + self.eps) * self.weight).to(t.dtype)


class SelfAttention(nn.Module):
    def __init__(self, size, heads, groups, dim, base):
        super().__init__()
        assert dim is not None or size % heads == 0
        assert heads % groups == 0
        self.heads, self.groups, self.dim, self.base = heads, groups, size // heads if dim is None else dim, base
        self.q_proj = nn.Linear(size, heads * self.dim, bias=False)
        self.kv_proj = nn.Linear(size, 2 * groups * self.dim, bias=False)
        self.out_proj = nn.Linear(heads * self.dim, size, bias=False)

    def turn(self, t, positions):
        rate = self.base ** (-torch.arange(0, self.dim, 2).double() / self.dim)
        angle = positions.double()[:, None, :, None] * rate
        wide = t.to(torch.promote_types(t.dtype, torch.float32))
        first, second = wide.chunk(2, dim=-1)
        z = torch.complex(first, second) * torch.polar(torch.ones_like(angle), angle).to(torch.complex128)
        return torch.cat((z.real, z.imag), dim=-1).to(t.dtype)

    def forward(self, t, positions):
        b, n, m = t.shape
        q = self.q_proj(t).view(b, n, self.heads, self.dim).transpose(1, 2)
        k, v = self.kv_proj(t).view(b, n, 2, self.groups, self.dim).permute(2, 0, 3, 1, 4)
        q, k = self.turn(q, positions), self.turn(k, positions)
        k, v = (u.repeat_interleave(self.heads // self.groups, 1) for u in (k, v))
        scores = q @ k.mT * self.dim**-0.5
        visible = positions.unsqueeze(-1) >= positions.unsqueeze(-2)
        scores = scores.masked_fill(~visible.unsqueeze(1), float("-inf"))  # first wrong
        mixed = F.softmax(scores, -1) @ v
        return self.out_proj(mixed.transpose(1, 2).flatten(2))


class FFN(nn.Module):
    def __init__(self, size, hidden):
        super().__init__()
        self.gate_proj = nn.Linear(size, hidden, bias=False)
        self.up_proj = nn.Linear(size, hidden, bias=False)
        self.down_proj = nn.Linear(hidden, size, bias=False)

    def forward(self, t):
        return self.down_proj(self.up_proj(t) * F.silu(self.gate_proj(t)))


class LlamaBlock(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, hidden_dim, head_dim=None, max_seq_len=2048, rope_base=10000.0, eps=1e-6):
        super().__init__()
        self.input_norm = RMS(d_model, eps)
        self.post_norm = RMS(d_model, eps)
        self.attn = SelfAttention(d_model, num_heads, num_kv_heads, head_dim, rope_base)
        self.mlp = FFN(d_model, hidden_dim)

    def forward(self, x, position_ids=None):
        if position_ids is None:
            position_ids = torch.arange(x.size(1)).expand(x.size(0), -1)
        x = x + self.attn(self.input_norm(x), position_ids)
        return x + self.mlp(self.post_norm(x))
