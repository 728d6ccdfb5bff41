"""Keep a write pointer, copy with slices, and join the two pieces of the ring for the result.

Slices copy memory in blocks, which is faster than an index tensor. A chunk may cross the end of the
ring, so both the write and the read have two cases.
"""

import torch
from torch import Tensor


class Ring:
    def __init__(self, data: Tensor):
        self.data, self.next, self.full = data, 0, False

    def write(self, x: Tensor) -> None:
        size = self.data.shape[2]
        x = x[:, :, -size:]
        n = x.shape[2]
        first = min(n, size - self.next)
        self.data[:, :, self.next : self.next + first] = x[:, :, :first]
        self.data[:, :, : n - first] = x[:, :, first:]
        self.full = self.full or self.next + n >= size
        self.next = (self.next + n) % size

    def read(self) -> Tensor:
        if not self.full:
            return self.data[:, :, : self.next].clone()
        return torch.cat([self.data[:, :, self.next :], self.data[:, :, : self.next]], dim=2)


class RollingKVCache:
    def __init__(self, batch: int, num_kv_heads: int, window: int, head_dim: int, dtype: torch.dtype = torch.float32):
        shape = (batch, num_kv_heads, window, head_dim)
        self.rings = Ring(torch.empty(shape, dtype=dtype)), Ring(torch.empty(shape, dtype=dtype))

    def append(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        for ring, x in zip(self.rings, (k, v)):
            ring.write(x)
        return self.rings[0].read(), self.rings[1].read()
