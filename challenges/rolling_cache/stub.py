import torch


class RollingKVCache:
    """A KV cache that keeps the last `window` tokens in a ring buffer of fixed memory.

    B batch, Hkv key/value heads, W window, D head dim; n new tokens in each call.
    """

    def __init__(self, batch, num_kv_heads, window, head_dim, dtype=torch.float32):
        # 1. Refuse a window below 1. -> ValueError
        # 2. Store the window, and a count of all tokens so far. -> int
        # 3. Make the buffers of the keys and the values. -> [B, Hkv, W, D]
        raise NotImplementedError

    @torch.no_grad()
    def append(self, k, v):
        """Add n tokens; return the keys and values of the last W tokens, oldest first.

        k, v [B, Hkv, n, D] with n at least 1 -> (k, v), each [B, Hkv, min(all tokens, W), D].
        The result is a copy: later calls do not change it.
        """
        # 1. Count the new tokens that stay: the last W of them at most. -> int
        # 2. Add the new tokens to the count of all tokens. -> int
        # 3. Compute the slots of the tokens that stay, position modulo W. -> [kept]
        # 4. Write their keys and values into these slots. -> [B, Hkv, W, D]
        # 5. Count the tokens that the buffers hold: W at most. -> int
        # 6. Compute the slots of these tokens, the oldest first. -> [count]
        # 7. Copy their keys and values. -> [B, Hkv, count, D]
        raise NotImplementedError
