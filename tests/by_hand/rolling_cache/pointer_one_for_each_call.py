# mistakes: chunk-counted-as-one-token
# diagnosis: line elsewhere
"""Counts calls, with fancy indexing."""

import torch


class RollingKVCache:
    def __init__(self, batch, num_kv_heads, window, head_dim, dtype=torch.float32):
        self.w = window
        self.t = 0
        self.bufs = [torch.zeros(batch, num_kv_heads, window, head_dim, dtype=dtype) for _ in "kv"]

    def append(self, k, v):
        m = min(k.shape[2], self.w)
        self.t = self.t + 1
        where = torch.remainder(torch.arange(self.t - m, self.t), self.w)  # first wrong
        for buf, x in zip(self.bufs, (k, v)):
            buf[:, :, where] = x[:, :, x.shape[2] - m :]
        c = min(self.t, self.w)
        back = torch.remainder(torch.arange(self.t - c, self.t), self.w)
        return tuple(buf.index_select(2, back) for buf in self.bufs)
