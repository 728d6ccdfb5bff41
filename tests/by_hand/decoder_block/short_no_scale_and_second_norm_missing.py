# mistakes: no-scale, second-norm-missing
"""As short as it gets."""

import torch, torch.nn as nn, torch.nn.functional as F


class A(nn.Module):
    def __init__(self, d, h, e):
        super().__init__()
        if d % h: raise ValueError((d, h))
        self.h, self.q, self.k, self.v, self.o = h, nn.Linear(d, d), nn.Linear(e, d), nn.Linear(e, d), nn.Linear(d, d)

    def forward(self, x, y, hide):
        q, k, v = (t.unflatten(2, (self.h, -1)).transpose(1, 2) for t in (self.q(x), self.k(y), self.v(y)))
        s = q @ k.mT  # first wrong
        if hide is not None: s = s.masked_fill(hide, -1e9)
        return self.o((s.softmax(3) @ v).transpose(1, 2).flatten(2))


class DecoderBlock(nn.Module):
    def __init__(self, d_model, num_heads, memory_dim):
        super().__init__()
        self.norm_1, self.norm_2, self.norm_3 = nn.LayerNorm(d_model), nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.self_attn, self.cross_attn = A(d_model, num_heads, d_model), A(d_model, num_heads, memory_dim)
        self.mlp = nn.ModuleDict({"fc": nn.Linear(d_model, 4 * d_model), "proj": nn.Linear(4 * d_model, d_model)})

    def forward(self, x, memory, memory_mask=None):
        hide = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)
        n = self.norm_1(x)
        x = x + self.self_attn(n, n, hide)
        x = x + self.cross_attn(x, memory, None if memory_mask is None else ~memory_mask[:, None, None])  # also wrong
        return x + self.mlp["proj"](F.gelu(self.mlp["fc"](self.norm_3(x))))
