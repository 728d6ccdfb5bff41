"""Write forward in a buffer of two windows, and move the last window to its front when it is full.

Most calls write only the new tokens and read one slice, and the move happens once per window of
tokens. The buffer takes twice the memory of a ring.
"""

import torch


class RollingKVCache:
    def __init__(self, batch, num_kv_heads, window, head_dim, dtype=torch.float32):
        self.window = window
        self.k, self.v = (torch.zeros(batch, num_kv_heads, 2 * window, head_dim, dtype=dtype) for _ in range(2))
        self.start = self.end = 0

    def append(self, k, v):
        k, v = k[:, :, -self.window :], v[:, :, -self.window :]
        n = k.shape[2]
        if self.end + n > 2 * self.window:
            keep = self.window - n
            for buffer in (self.k, self.v):
                buffer[:, :, :keep] = buffer[:, :, self.end - keep : self.end].clone()
            self.end = keep
        self.k.narrow(2, self.end, n).copy_(k)
        self.v.narrow(2, self.end, n).copy_(v)
        self.end += n
        self.start = max(0, self.end - self.window)
        return self.k[:, :, self.start : self.end].clone(), self.v[:, :, self.start : self.end].clone()
