"""Keep the layers in dicts of modules, and write the whole block in one forward.

Every step is in one place, and the modules only hold weights. The parts cannot be tested or
replaced on their own, and forward is long.
"""

import math

import torch
from torch import nn


def plain(rows, columns):
    return nn.Linear(columns, rows, bias=False)


class LlamaBlock(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, hidden_dim, head_dim=None, max_seq_len=2048, rope_base=10000.0, eps=1e-6):
        super().__init__()
        if head_dim is None and d_model % num_heads != 0:
            raise ValueError(f"num_heads {num_heads} must divide d_model {d_model}")
        if num_heads % num_kv_heads != 0:
            raise ValueError(f"num_kv_heads {num_kv_heads} must divide num_heads {num_heads}")
        self.h, self.g, self.d = num_heads, num_kv_heads, head_dim or d_model // num_heads
        self.limit, self.base, self.eps = max_seq_len, rope_base, eps
        self.input_norm = nn.ParameterDict({"weight": torch.ones(d_model)})
        self.post_norm = nn.ParameterDict({"weight": torch.ones(d_model)})
        q, kv = num_heads * self.d, num_kv_heads * self.d
        self.attn = nn.ModuleDict({"q": plain(q, d_model), "k": plain(kv, d_model), "v": plain(kv, d_model), "o_proj": plain(d_model, q)})
        self.mlp = nn.ModuleDict({"w1": plain(hidden_dim, d_model), "w3": plain(hidden_dim, d_model), "w2": plain(d_model, hidden_dim)})

    def forward(self, x, position_ids=None):
        b, n, _ = x.shape

        def norm(t, weight):
            rms = (t.square().mean(-1, keepdim=True) + self.eps).sqrt()
            return weight * (t / rms)

        def split(t, heads):
            return t.reshape(b, n, heads, self.d).permute(0, 2, 1, 3)

        # the angles of this call only, computed in float64
        at = torch.arange(n, device=x.device).expand(b, n) if position_ids is None else position_ids
        rate = torch.exp(torch.arange(0, self.d, 2, device=x.device, dtype=torch.float64) * (-math.log(self.base) / self.d))
        angle = (at.double()[..., None] * rate)[:, None]  # [B, 1, L, D/2]
        cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)

        def turn(t):
            a, c = t[..., : self.d // 2], t[..., self.d // 2 :]
            return torch.cat([a * cos - c * sin, c * cos + a * sin], dim=-1)

        y = norm(x, self.input_norm["weight"])
        q, k, v = turn(split(self.attn["q"](y), self.h)), turn(split(self.attn["k"](y), self.g)), split(self.attn["v"](y), self.g)
        owner = torch.arange(self.h, device=x.device) // (self.h // self.g)
        k, v = k.index_select(1, owner), v.index_select(1, owner)
        s = torch.matmul(q, k.mT).mul(1 / math.sqrt(self.d))
        s = s + torch.ones(n, n, dtype=torch.bool, device=x.device).triu(1).to(s.dtype).mul(-1e9)
        e = (s - s.amax(-1, keepdim=True)).exp()
        o = torch.matmul(e, v) / e.sum(-1, keepdim=True)
        x = x + self.attn["o_proj"](o.permute(0, 2, 1, 3).flatten(2))
        y = norm(x, self.post_norm["weight"])
        gate = self.mlp["w1"](y)
        return x + self.mlp["w2"](gate * torch.sigmoid(gate) * self.mlp["w3"](y))
