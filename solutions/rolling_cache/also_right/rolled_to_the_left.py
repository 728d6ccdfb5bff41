"""Roll the buffer to the left by the number of new tokens, and write them at its end.

The newest token always has the same place, so no index is taken modulo the window. Each call moves
all entries of the buffer, and the unused places are at the front until the window is full.
"""

import torch


class RollingKVCache:
    def __init__(self, batch, num_kv_heads, window, head_dim, dtype=torch.float32):
        self.buffers = torch.zeros((2, batch, num_kv_heads, window, head_dim), dtype=dtype)
        self.used = 0

    @property
    def window(self):
        return self.buffers.shape[3]

    def append(self, k, v):
        both = torch.stack((k, v))[..., -self.window :, :]
        n = both.shape[3]
        self.buffers = torch.roll(self.buffers, -n, dims=3)
        self.buffers[..., self.window - n :, :] = both
        self.used = min(self.window, self.used + n)
        k, v = self.buffers[..., self.window - self.used :, :].clone().unbind(0)
        return k, v
