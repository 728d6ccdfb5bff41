"""Keep a queue of single tokens with a maximum length, which drops the oldest by itself.

The code is short and needs no positions. Each token is its own tensor, which must be copied so that
it does not keep the whole chunk in memory, and a window of thousands of tokens becomes slow.
"""

from collections import deque

import torch


class RollingKVCache:
    def __init__(self, batch, num_kv_heads, window, head_dim, dtype=torch.float32):
        self.tokens = deque(maxlen=window)

    def append(self, k, v):
        for pair in zip(k.unbind(2), v.unbind(2)):
            self.tokens.append(tuple(token.clone() for token in pair))
        keys, values = zip(*self.tokens)
        return torch.stack(keys, 2), torch.stack(values, 2)
