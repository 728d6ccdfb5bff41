# mistakes: values-rotated, causal-mask-sees-one-ahead
# diagnosis: line elsewhere
"""All heads are rotated in one product, the value heads too; the triangle is one too wide."""

import torch
from torch import nn


class Norm(nn.Module):
    def __init__(self, width, eps):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.eps = eps

    def forward(self, t):
        return torch.nn.functional.rms_norm(t, [t.shape[-1]], self.weight, self.eps)


class Heads(nn.Module):
    def __init__(self, width, heads, kv, dim, rows, base):
        super().__init__()
        assert (dim or width % heads == 0) and heads % kv == 0
        self.sizes, self.dim = [heads, kv, kv], dim or width // heads
        self.W_qkv = nn.Linear(width, sum(self.sizes) * self.dim, bias=False)
        self.W_o = nn.Linear(heads * self.dim, width, bias=False)
        half = torch.arange(self.dim // 2)
        self.register_buffer("angles", torch.arange(rows)[:, None] * torch.pow(base, -2 * half / self.dim), persistent=False)

    def _apply(self, fn, recurse=True):
        kept = self.angles
        super()._apply(fn, recurse)
        self.angles = kept
        return self

    def forward(self, t, places):
        b, n, m = t.shape
        heads = self.W_qkv(t).view(b, n, -1, self.dim)
        angle = self.angles[places].unsqueeze(2)
        cos, sin = angle.cos().to(t.dtype), angle.sin().to(t.dtype)
        first, second = heads.chunk(2, -1)
        heads = torch.cat((first * cos - second * sin, second * cos + first * sin), -1)
        q, k, v = (u.transpose(1, 2) for u in heads.split(self.sizes, dim=2))  # first wrong
        share = self.sizes[0] // self.sizes[1]
        k, v = k.repeat_interleave(share, 1), v.repeat_interleave(share, 1)
        logits = torch.matmul(q / self.dim**0.5, k.mT)
        hidden = torch.ones(n, n, device=t.device).triu(2).bool()  # also wrong
        weights = torch.softmax(logits.masked_fill(hidden, float("-inf")), -1)
        return self.W_o(torch.matmul(weights, v).transpose(1, 2).reshape(b, n, -1))


class LlamaBlock(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, hidden_dim, head_dim=None, max_seq_len=2048, rope_base=10000.0, eps=1e-6):
        super().__init__()
        self.input_norm, self.post_norm = Norm(d_model, eps), Norm(d_model, eps)
        self.attn = Heads(d_model, num_heads, num_kv_heads, head_dim, max_seq_len, rope_base)
        self.mlp = nn.ModuleDict(
            {
                "gate_proj": nn.Linear(d_model, hidden_dim, bias=False),
                "up_proj": nn.Linear(d_model, hidden_dim, bias=False),
                "down_proj": nn.Linear(hidden_dim, d_model, bias=False),
            }
        )

    def forward(self, x, position_ids=None):
        n = x.shape[1]
        places = torch.arange(n, device=x.device).unsqueeze(0) if position_ids is None else position_ids
        x = x + self.attn(self.input_norm(x), places)
        y = self.post_norm(x)
        hidden = nn.functional.silu(self.mlp["gate_proj"](y)).mul(self.mlp["up_proj"](y))
        return x + self.mlp["down_proj"](hidden)
