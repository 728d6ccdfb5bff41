"""A KV cache of fixed memory: a ring buffer that holds the last `window` tokens.

    token t is written to slot t % window, over token t - window

With sliding-window attention no later query sees an overwritten token, so nothing is lost.
Jiang et al. 2023, "Mistral 7B", section 2.
"""

import torch


class RollingKVCache:
    """B batch, Hkv key/value heads, W window, D head dim; n new tokens in each call."""

    def __init__(self, batch, num_kv_heads, window, head_dim, dtype=torch.float32):
        if window < 1:
            raise ValueError(f"window must be at least 1; it is {window}")
        self.window = window
        self.length = 0  # all tokens so far, also those that were overwritten
        self.k = torch.zeros(batch, num_kv_heads, window, head_dim, dtype=dtype)
        self.v = torch.zeros(batch, num_kv_heads, window, head_dim, dtype=dtype)

    @torch.no_grad()
    def append(self, k, v):
        """Add k and v [B, Hkv, n, D]; return the last tokens, each [B, Hkv, min(length, W), D]."""
        if k.shape != v.shape:
            raise ValueError(f"k and v differ: {list(k.shape)}, {list(v.shape)}")
        new = k.shape[2]
        # of a chunk longer than the window, only the end stays; each slot is written once
        kept = min(new, self.window)
        self.length += new

        written = torch.arange(self.length - kept, self.length, device=k.device)  # [kept]
        slots = written % self.window
        self.k[:, :, slots] = k[:, :, new - kept :]
        self.v[:, :, slots] = v[:, :, new - kept :]

        # until the ring is full, some slots hold no token
        count = min(self.length, self.window)
        held = torch.arange(self.length - count, self.length, device=k.device)  # [count]
        order = held % self.window
        # an index tensor copies; a slice would be a view, which later calls overwrite
        keys = self.k[:, :, order]  # [B, Hkv, count, D]
        values = self.v[:, :, order]  # [B, Hkv, count, D]
        return keys, values
