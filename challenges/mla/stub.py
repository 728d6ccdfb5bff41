import torch
from torch import nn


class MultiHeadLatentAttention(nn.Module):
    """DeepSeek-V2's attention without its norms: keys and values come from a latent of kv_rank entries a token.

    B batch, L length, M d_model, H heads. All layers are Linear without bias:
    q_down (M, q_rank), q_up (q_rank, H * nope_dim), q_rope (q_rank, H * rope_dim),
    kv_down (M, kv_rank), k_up (kv_rank, H * nope_dim), v_up (kv_rank, H * v_dim),
    k_rope (M, rope_dim), o_proj (H * v_dim, M).
    """

    def __init__(self, d_model, num_heads, q_rank, kv_rank, nope_dim, rope_dim, v_dim, rope_base=10000.0):
        super().__init__()
        raise NotImplementedError

    def forward(self, x, mask=None, position_ids=None):
        """x [B, L, M], mask bool broadcastable to [B, H, L, L] (True = may attend), position_ids int64 [B, L] or None = 0 .. L-1.

        -> [B, L, M].
        """
        raise NotImplementedError
