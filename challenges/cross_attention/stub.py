import torch
from torch import nn


class CrossAttention(nn.Module):
    """Attention of one sequence to another, which may have a length and a width of its own.

    B batch, Lq length of x, Lk length of memory, M d_model, H heads, D = M / H head dim.
    Layers: q_proj and o_proj Linear(M, M), k_proj and v_proj Linear(memory_dim, M).
    """

    def __init__(self, d_model, num_heads, memory_dim=None, bias=True):
        """memory_dim: width of a token of memory; None = d_model. bias: of all four layers."""
        super().__init__()
        # 1. Refuse an M that H does not divide. -> ValueError
        # 2. Without a memory_dim, take d_model. -> int
        # 3. Keep the head dim D = M / H and the number of heads. -> int
        # 4. Make q_proj and o_proj: they stand on the side of x. -> Linear(M, M)
        # 5. Make k_proj and v_proj: they read memory. -> Linear(memory_dim, M)
        raise NotImplementedError

    def forward(self, x, memory, memory_mask=None):
        """x [B, Lq, M], memory [B, Lk, memory_dim], memory_mask bool [B, Lk], True = a real token -> [B, Lq, M]."""
        # 1. Project x to queries and cut them into heads, heads before positions. -> [B, H, Lq, D]
        # 2. The same for keys and values, from memory and with its length. -> [B, H, Lk, D]
        # 3. Score every query with every key of its head, scaled. -> [B, H, Lq, Lk]
        # 4. Give a memory_mask its axes: it speaks of keys, to all heads and queries alike. -> [B, 1, 1, Lk]
        # 5. Shut out the padding, before the softmax. -> [B, H, Lq, Lk]
        # 6. Softmax over the keys. -> [B, H, Lq, Lk]
        # 7. Weight the values. -> [B, H, Lq, D]
        # 8. Put the heads of a token side by side again and project. -> [B, Lq, M]
        raise NotImplementedError
