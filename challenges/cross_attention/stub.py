import torch
from torch import nn


class CrossAttention(nn.Module):
    """Attention of one sequence to another sequence, which may have another length and width.

    B batch, Lq length of x, Lk length of memory, M d_model, H heads, D = M / H head dim.
    Layers: q_proj and o_proj Linear(M, M), k_proj and v_proj Linear(memory_dim, M).
    """

    def __init__(self, d_model, num_heads, memory_dim=None, bias=True):
        """memory_dim: the width of memory, None = d_model. bias: for all four layers."""
        super().__init__()
        # 1. Refuse M if H does not divide it. -> ValueError
        # 2. If there is no memory_dim, use d_model. -> int
        # 3. Store the head dim D = M / H and the number of heads. -> int
        # 4. Make q_proj and o_proj: they work on tokens of x. -> Linear(M, M)
        # 5. Make k_proj and v_proj: they read tokens of memory. -> Linear(memory_dim, M)
        raise NotImplementedError

    def forward(self, x, memory, memory_mask=None):
        """Return the attention of x to memory [B, Lq, M].

        x [B, Lq, M], memory [B, Lk, memory_dim], memory_mask bool [B, Lk], True = a real token.
        """
        # 1. Project x to queries. Split them into heads, heads before positions. -> [B, H, Lq, D]
        # 2. Do the same for keys and values, from memory and with its length. -> [B, H, Lk, D]
        # 3. Score every query with every key of its head, with the scale. -> [B, H, Lq, Lk]
        # 4. Add axes to memory_mask: it is the same for all heads and queries. -> [B, 1, 1, Lk]
        # 5. Exclude the padding before the softmax. -> [B, H, Lq, Lk]
        # 6. Apply the softmax over the keys. -> [B, H, Lq, Lk]
        # 7. Sum the values with these weights. -> [B, H, Lq, D]
        # 8. Join the heads of each token and project. -> [B, Lq, M]
        raise NotImplementedError
