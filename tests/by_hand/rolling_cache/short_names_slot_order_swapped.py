# mistakes: order-of-the-slots, keys-and-values-swapped
"""Short names."""

import torch


class RollingKVCache:
    def __init__(self, batch, num_kv_heads, window, head_dim, dtype=torch.float32):
        self.a = torch.zeros(batch, num_kv_heads, window, head_dim, dtype=dtype)
        self.b = torch.zeros(batch, num_kv_heads, window, head_dim, dtype=dtype)
        self.w = window
        self.n = 0

    def append(self, k, v):
        x, y = k[:, :, -self.w :], v[:, :, -self.w :]
        m = x.shape[2]
        self.n += k.shape[2]
        s = [(self.n - m + i) % self.w for i in range(m)]
        self.a[:, :, s] = x
        self.b[:, :, s] = y
        c = min(self.n, self.w)
        a, b = self.a[:, :, :c].clone(), self.b[:, :, :c].clone()  # first wrong
        return b, a  # also wrong
