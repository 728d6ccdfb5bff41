# mistakes: branches-in-parallel
"""One forward with nested functions, like GPT-J's block: both branches read the same x."""

import math

import torch
from torch import nn


class Scale(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))


class LlamaBlock(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, hidden_dim, head_dim=None, max_seq_len=2048, rope_base=10000.0, eps=1e-6):
        super().__init__()
        if head_dim is None and d_model % num_heads != 0:
            raise ValueError("num_heads")
        if num_heads % num_kv_heads != 0:
            raise ValueError("num_kv_heads")
        self.heads, self.groups, self.dim = num_heads, num_kv_heads, head_dim or d_model // num_heads
        self.base, self.eps = rope_base, eps
        self.input_norm, self.post_norm = Scale(d_model), Scale(d_model)
        lin = lambda i, o: nn.Linear(i, o, bias=False)
        self.attn = nn.ModuleDict({"qkv_proj": lin(d_model, (num_heads + 2 * num_kv_heads) * self.dim), "o_proj": lin(num_heads * self.dim, d_model)})
        self.mlp = nn.ModuleDict({"gate_proj": lin(d_model, hidden_dim), "up_proj": lin(d_model, hidden_dim), "down_proj": lin(hidden_dim, d_model)})

    def forward(self, x, position_ids=None):
        def norm(t, scale):
            power = t.pow(2).mean(-1, keepdim=True)
            return t * torch.rsqrt(power + self.eps) * scale.weight

        def attention(t):
            b, n, m = t.shape
            sizes = [self.heads, self.groups, self.groups]
            q, k, v = self.attn["qkv_proj"](t).unflatten(-1, (-1, self.dim)).split(sizes, 2)
            place = torch.arange(n)[None] if position_ids is None else position_ids
            freq = torch.exp(torch.arange(0, self.dim, 2) * (-math.log(self.base) / self.dim))
            angle = (place.float()[..., None] * freq).unsqueeze(2)
            cos, sin = angle.cos().to(t.dtype), angle.sin().to(t.dtype)

            def spin(u):
                a, c = u[..., : self.dim // 2], u[..., self.dim // 2 :]
                return torch.cat((a * cos - c * sin, a * sin + c * cos), -1)

            q, k, v = spin(q).transpose(1, 2), spin(k).transpose(1, 2), v.transpose(1, 2)
            q = q.unflatten(1, (self.groups, -1))
            logits = q @ k.unsqueeze(2).mT / math.sqrt(self.dim)
            open_ = torch.arange(n)[:, None] >= torch.arange(n)
            share = torch.where(open_, logits, torch.finfo(logits.dtype).min).softmax(-1)
            return self.attn["o_proj"]((share @ v.unsqueeze(2)).flatten(1, 2).transpose(1, 2).flatten(2))

        def feed(t):
            g = self.mlp["gate_proj"](t)
            return self.mlp["down_proj"](g * g.sigmoid() * self.mlp["up_proj"](t))

        first = attention(norm(x, self.input_norm))
        second = feed(norm(x, self.post_norm))  # first wrong
        return x + first + second
