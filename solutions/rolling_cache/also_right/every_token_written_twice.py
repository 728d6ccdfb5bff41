"""Write every token twice, a window apart, so that the last tokens are always contiguous.

A reader gets the window with a plain slice, for example in a kernel that needs contiguous keys. The
buffer takes twice the memory, and every token costs two writes.
"""

import torch


class RollingKVCache:
    def __init__(self, batch, num_kv_heads, window, head_dim, dtype=torch.float32):
        self.w, self.seen = window, 0
        self.kv = torch.zeros(2, batch, num_kv_heads, 2 * window, head_dim, dtype=dtype)

    def append(self, k, v):
        n = k.size(2)
        for i in range(max(0, n - self.w), n):
            slot = (self.seen + i) % self.w
            for place in (slot, slot + self.w):
                self.kv[0, :, :, place] = k[:, :, i]
                self.kv[1, :, :, place] = v[:, :, i]
        self.seen += n
        count = min(self.seen, self.w)
        end = (self.seen - 1) % self.w + self.w + 1
        start = end - count
        return tuple(part[:, :, start:end].clone() for part in self.kv)
