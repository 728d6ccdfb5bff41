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
        raise NotImplementedError

    def forward(self, x, memory, memory_mask=None):
        """x [B, Lq, M], memory [B, Lk, memory_dim], memory_mask bool [B, Lk], True = a real token -> [B, Lq, M]."""
        raise NotImplementedError
