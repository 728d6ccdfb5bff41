# mistakes: order-of-the-slots
"""A helper writes with slices; the read forgets where the ring begins."""

import torch


class RollingKVCache:
    def __init__(self, batch, num_kv_heads, window, head_dim, dtype=torch.float32):
        self.size = window
        self.seen = 0
        self.keys = torch.empty(batch, num_kv_heads, window, head_dim, dtype=dtype)
        self.values = torch.empty(batch, num_kv_heads, window, head_dim, dtype=dtype)

    def put(self, ring, x):
        x = x[:, :, -self.size :]
        start = (self.seen - x.shape[2]) % self.size
        first = min(x.shape[2], self.size - start)
        ring[:, :, start : start + first] = x[:, :, :first]
        ring[:, :, : x.shape[2] - first] = x[:, :, first:]

    def append(self, k, v):
        self.seen += k.shape[2]
        self.put(self.keys, k)
        self.put(self.values, v)
        filled = min(self.seen, self.size)
        return self.keys[:, :, :filled].clone(), self.values[:, :, :filled].clone()  # first wrong
