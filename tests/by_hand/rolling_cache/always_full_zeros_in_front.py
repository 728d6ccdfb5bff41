# mistakes: empty-slots-returned
"""The buffers hold the tokens in time order; empty places count as tokens."""

import torch


class RollingKVCache:
    def __init__(self, batch, num_kv_heads, window, head_dim, dtype=torch.float32):
        self.width = window
        self.now = 0
        self.key_ring = torch.zeros((batch, num_kv_heads, window, head_dim), dtype=dtype)
        self.value_ring = torch.zeros_like(self.key_ring)

    def append(self, k, v):
        for token in range(k.size(2)):
            slot = self.now % self.width
            self.key_ring[:, :, slot, :] = k[:, :, token, :]
            self.value_ring[:, :, slot, :] = v[:, :, token, :]
            self.now += 1
        index = torch.tensor([(self.now + i) % self.width for i in range(self.width)])  # first wrong
        return self.key_ring.index_select(2, index), self.value_ring.index_select(2, index)
