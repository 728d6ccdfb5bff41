# mistakes: order-off-by-one, values-are-keys
"""Index tensors from a helper method."""

import torch


class RollingKVCache:
    def __init__(self, batch, num_kv_heads, window, head_dim, dtype=torch.float32):
        self.window, self.total = window, 0
        self.k = torch.zeros((batch, num_kv_heads, window, head_dim), dtype=dtype)
        self.v = torch.zeros((batch, num_kv_heads, window, head_dim), dtype=dtype)

    def last(self, n, shift=0):
        return (torch.arange(n) + self.total - n + shift).remainder(self.window)

    def append(self, k, v):
        n = min(k.shape[2], self.window)
        self.total += k.shape[2]
        for ring in (self.k, self.v):
            ring[:, :, self.last(n)] = k[:, :, k.shape[2] - n :]  # also wrong
        full = min(self.total, self.window)
        places = self.last(full, shift=1)  # first wrong
        return self.k[:, :, places], self.v[:, :, places]
