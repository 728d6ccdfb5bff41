# mistakes: memory-detached
"""In two steps, as a decoder calls it: memory is read once, then asked."""

import torch
from torch import nn


class CrossAttention(nn.Module):
    def __init__(self, d_model, num_heads, memory_dim=None, bias=True):
        super().__init__()
        self.n_heads = num_heads
        self.d_head, rest = divmod(d_model, num_heads)
        if rest != 0:
            raise ValueError(f"{rest} of {d_model} features would belong to no head")
        n_state = memory_dim or d_model
        self.query = nn.Linear(d_model, d_model, bias=bias)
        self.key = nn.Linear(n_state, d_model, bias=bias)
        self.value = nn.Linear(n_state, d_model, bias=bias)
        self.out = nn.Linear(d_model, d_model, bias=bias)

    def read(self, memory):
        """Keys [B, H, D, Lk] and values [B, H, Lk, D]; the encoder is done by now."""
        memory = memory.detach()  # first wrong
        keys = self.key(memory).unflatten(-1, (self.n_heads, self.d_head)).permute(0, 2, 3, 1)
        values = self.value(memory).unflatten(-1, (self.n_heads, self.d_head)).permute(0, 2, 1, 3)
        return keys, values

    def ask(self, x, keys, values, memory_mask):
        queries = self.query(x).unflatten(-1, (self.n_heads, self.d_head)).permute(0, 2, 1, 3)
        logits = (queries @ keys) * self.d_head**-0.5
        if memory_mask is not None:
            logits = torch.where(memory_mask[:, None, None], logits, -1e9)
        weights = (logits - logits.logsumexp(-1, keepdim=True)).exp()
        return self.out((weights @ values).permute(0, 2, 1, 3).flatten(2))

    def forward(self, x, memory, memory_mask=None):
        keys, values = self.read(memory)
        return self.ask(x, keys, values, memory_mask)
