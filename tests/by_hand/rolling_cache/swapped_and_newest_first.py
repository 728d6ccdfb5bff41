# mistakes: order-newest-first, keys-and-values-swapped
"""One stacked buffer that rolls to the left."""

import torch


class RollingKVCache:
    def __init__(self, batch, num_kv_heads, window, head_dim, dtype=torch.float32):
        self.store = torch.zeros(2, batch, num_kv_heads, window, head_dim, dtype=dtype)
        self.have = 0

    def append(self, k, v):
        w = self.store.shape[-2]
        new = torch.stack([k, v])[..., -w:, :]
        n = new.shape[-2]
        self.store = torch.cat([self.store[..., n:, :], new], dim=-2)
        self.have = min(w, self.have + n)
        recent = self.store[..., w - self.have :, :].flip(-2)  # first wrong
        return recent[1], recent[0]  # also wrong
