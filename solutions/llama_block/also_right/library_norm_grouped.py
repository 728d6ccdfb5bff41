"""Use nn.RMSNorm, one fused projection, and a group axis instead of repeated keys.

The products broadcast over the group, so k and v keep their Hkv heads, and one matrix makes q, k
and v. The axis of the group is one more axis to keep in mind in every einsum.
"""

import torch
from torch import nn
from torch.nn.functional import silu


class GroupedAttention(nn.Module):
    def __init__(self, width, heads, groups, dim, rows, base):
        super().__init__()
        assert heads % groups == 0
        if dim is None:
            assert width % heads == 0
            dim = width // heads
        self.g, self.r, self.d = groups, heads // groups, dim
        self.qkv_proj = nn.Linear(width, (heads + 2 * groups) * self.d, bias=False)
        self.out_proj = nn.Linear(heads * dim, width, bias=False)
        half = self.d // 2
        rate = torch.pow(torch.tensor(float(base), dtype=torch.float64), -torch.arange(half).double() / half)
        angle = torch.einsum("t,i->ti", torch.arange(rows, dtype=torch.float64), rate)
        self.register_buffer("turns", torch.stack((angle.cos(), angle.sin())).float())  # [2, T, D/2]

    def rotate(self, t, cos, sin):
        a, b = t.tensor_split(2, dim=-1)
        return torch.cat((a * cos - b * sin, b * cos + a * sin), -1)

    def forward(self, y, places):
        b, n, _ = y.shape
        cos, sin = (self.turns[:, :n][:, None] if places is None else self.turns[:, places]).to(y.dtype)
        q, k, v = self.qkv_proj(y).split([self.g * self.r * self.d, self.g * self.d, self.g * self.d], dim=-1)
        q = self.rotate(q.view(b, n, self.g, self.r, self.d), cos[:, :, None, None], sin[:, :, None, None])
        k = self.rotate(k.view(b, n, self.g, self.d), cos[:, :, None], sin[:, :, None])
        s = torch.einsum("bigrd,bjgd->bgrij", q * self.d**-0.5, k)
        i = torch.arange(n, device=y.device)
        s = torch.where(i[:, None] >= i, s, torch.finfo(s.dtype).min)
        o = torch.einsum("bgrij,bjgd->bigrd", s.softmax(-1), v.view(b, n, self.g, self.d))
        return self.out_proj(o.reshape(b, n, -1))


class Gated(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.gate_proj = nn.Linear(width, hidden, bias=False)
        self.up_proj = nn.Linear(width, hidden, bias=False)
        self.down_proj = nn.Linear(hidden, width, bias=False)

    def forward(self, y):
        return self.down_proj(self.up_proj(y).mul(silu(self.gate_proj(y))))


class LlamaBlock(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, hidden_dim, head_dim=None, max_seq_len=2048, rope_base=10000.0, eps=1e-6):
        super().__init__()
        self.input_norm = nn.RMSNorm(d_model, eps=eps)
        self.attn = GroupedAttention(d_model, num_heads, num_kv_heads, head_dim, max_seq_len, rope_base)
        self.post_norm = nn.RMSNorm(d_model, eps=eps)
        self.mlp = Gated(d_model, hidden_dim)

    def forward(self, x, position_ids=None):
        x = torch.add(x, self.attn(self.input_norm(x), position_ids))
        return torch.add(x, self.mlp(self.post_norm(x)))
