# mistakes: causal-as-well, heads-merged-without-transpose
"""As short as it gets."""

import torch, torch.nn as nn


class CrossAttention(nn.Module):
    def __init__(self, d_model, num_heads, memory_dim=None, bias=True):
        super().__init__()
        if d_model % num_heads: raise ValueError((d_model, num_heads))
        self.d, e = d_model // num_heads, memory_dim or d_model
        self.q, self.k, self.v, self.o = (nn.Linear(n, d_model, bias) for n in (d_model, e, e, d_model))

    def forward(self, x, memory, memory_mask=None):
        q, k, v = (f(t).unflatten(-1, (-1, self.d)).transpose(1, 2) for f, t in ((self.q, x), (self.k, memory), (self.v, memory)))
        see = torch.ones(x.shape[1], memory.shape[1], dtype=torch.bool, device=x.device).tril()  # first wrong
        see = see if memory_mask is None else see & memory_mask[:, None, None]
        w = (q @ k.mT / self.d**0.5).where(see, -torch.inf).softmax(-1)
        return self.o((w @ v).reshape(x.shape))  # also wrong
