"""Keep the tokens in time order: join the old tokens and the new ones, and copy the end.

There is no index to get wrong, and the cache is as small as its content. Every call copies the
whole window, even for a single token. The end must be copied, because a slice would keep the joined
tensor in memory, and with it all tokens of a long chunk.
"""

import torch


class RollingKVCache:
    def __init__(self, batch, num_kv_heads, window, head_dim, dtype=torch.float32):
        self.window = window
        self.keys = torch.empty(batch, num_kv_heads, 0, head_dim, dtype=dtype)
        self.values = self.keys.clone()

    def append(self, k, v):
        self.keys = torch.cat([self.keys, k], dim=2)[:, :, -self.window :].clone()
        self.values = torch.cat([self.values, v], dim=2)[:, :, -self.window :].clone()
        return self.keys, self.values
