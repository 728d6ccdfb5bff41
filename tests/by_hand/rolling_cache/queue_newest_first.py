# mistakes: order-newest-first
"""A queue of tokens that grows on the left."""

from collections import deque

import torch


class RollingKVCache:
    def __init__(self, batch, num_kv_heads, window, head_dim, dtype=torch.float32):
        self.queue = deque([], window)

    def append(self, k, v):
        for t in range(k.shape[2]):
            self.queue.appendleft((k[:, :, t].clone(), v[:, :, t].clone()))
        return (
            torch.stack([token[0] for token in self.queue], dim=2),  # first wrong
            torch.stack([token[1] for token in self.queue], dim=2),
        )
