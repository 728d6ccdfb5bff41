# mistakes: no-minus, heads-merged-without-transpose
"""As few lines as possible."""

import torch
from torch import nn


class LlamaAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, max_seq_len=2048, rope_base=10000.0):
        super().__init__()
        assert d_model % num_heads == 0 and num_heads % num_kv_heads == 0
        self.h, self.g, self.d, lin = num_heads, num_kv_heads, d_model // num_heads, lambda out: nn.Linear(d_model, out, bias=False)
        self.q, self.k, self.v, self.out_proj = lin(d_model), lin(self.g * self.d), lin(self.g * self.d), lin(d_model)
        self.angle = torch.arange(max_seq_len)[:, None] * rope_base ** (torch.arange(0, self.d, 2) / -self.d)

    def forward(self, x, mask=None, position_ids=None):
        angle = self.angle[torch.arange(x.size(1))[None] if position_ids is None else position_ids][:, None]
        c, s, r = angle.cos().to(x.dtype), angle.sin().to(x.dtype), self.h // self.g
        q, k, v = (f(x).unflatten(-1, (-1, self.d)).transpose(1, 2) for f in (self.q, self.k, self.v))
        turn = lambda a, b: torch.cat((a * c + b * s, b * c + a * s), -1)  # noqa: E731  # first wrong
        q, k, v = turn(*q.chunk(2, -1)), turn(*k.chunk(2, -1)).repeat_interleave(r, 1), v.repeat_interleave(r, 1)
        w = ((q @ k.mT) / self.d**0.5 + (0 if mask is None else torch.zeros(mask.shape, dtype=x.dtype).masked_fill(~mask, -torch.inf))).softmax(-1)
        return self.out_proj((w @ v).reshape(x.shape))  # also wrong
