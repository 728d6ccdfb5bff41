# mistakes: values-are-keys
"""Joined tensors in time order; a line was copied and changed in a single place."""

import torch


class RollingKVCache:
    def __init__(self, batch, num_kv_heads, window, head_dim, dtype=torch.float32):
        self.limit = window
        self.past_k = torch.empty(batch, num_kv_heads, 0, head_dim, dtype=dtype)
        self.past_v = torch.empty(batch, num_kv_heads, 0, head_dim, dtype=dtype)

    def append(self, k, v):
        self.past_k = torch.cat((self.past_k, k), dim=2)[:, :, -self.limit :].clone()
        self.past_v = torch.cat((self.past_v, k), dim=2)[:, :, -self.limit :].clone()  # first wrong
        return self.past_k, self.past_v
