# mistakes: chunk-of-first-tokens
"""A Python loop writes token by token; the chunk is cut at its start."""

import torch


class RollingKVCache:
    def __init__(self, batch, num_kv_heads, window, head_dim, dtype=torch.float32):
        shape = (2, batch, num_kv_heads, window, head_dim)
        self.ring = torch.zeros(shape, dtype=dtype)
        self.total = 0

    def append(self, k, v):
        w = self.ring.shape[3]
        n = k.shape[2]
        self.total += n
        keep = min(n, w)
        for i in range(keep):
            place = (self.total - keep + i) % w
            self.ring[0, :, :, place] = k[:, :, i]  # first wrong
            self.ring[1, :, :, place] = v[:, :, i]
        held = min(self.total, w)
        places = [(self.total - held + i) % w for i in range(held)]
        return self.ring[0][:, :, places], self.ring[1][:, :, places]
