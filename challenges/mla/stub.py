import torch
from torch import nn


class MultiHeadLatentAttention(nn.Module):
    """DeepSeek-V2's attention without its norms: keys and values come from a latent of kv_rank.

    B batch, L length, M d_model, H heads. All layers are Linear without bias:
    q_down (M, q_rank), q_up (q_rank, H * nope_dim), q_rope (q_rank, H * rope_dim),
    kv_down (M, kv_rank), k_up (kv_rank, H * nope_dim), v_up (kv_rank, H * v_dim),
    k_rope (M, rope_dim), o_proj (H * v_dim, M).
    """

    def __init__(
        self, d_model, num_heads, q_rank, kv_rank, nope_dim, rope_dim, v_dim, rope_base=10000.0
    ):
        super().__init__()
        # 1. Store the number of heads, the widths of a head's parts and the base. -> int, float
        # 2. Make q_down, for the latent of the queries; no layer has a bias. -> Linear(M, q_rank)
        # 3. Make q_up, for the unrotated part of every head. -> Linear(q_rank, H * nope_dim)
        # 4. Make q_rope, for the rotary part of every head. -> Linear(q_rank, H * rope_dim)
        # 5. Make kv_down, for the latent of keys and values. -> Linear(M, kv_rank)
        # 6. Make k_up, for the unrotated key of every head. -> Linear(kv_rank, H * nope_dim)
        # 7. Make v_up, for the value of every head. -> Linear(kv_rank, H * v_dim)
        # 8. Make k_rope: from x to one rotary key for all heads. -> Linear(M, rope_dim)
        # 9. Make o_proj, from the values of all heads. -> Linear(H * v_dim, M)
        raise NotImplementedError

    def forward(self, x, mask=None, position_ids=None):
        """Return the attention output [B, L, M].

        x [B, L, M], mask bool broadcastable to [B, H, L, L], True = may attend,
        position_ids int64 [B, L]; None = 0 .. L-1.
        """
        # 1. Compute the angles of all positions and pairs in float32 or float64.
        #    -> [B, 1, L, rope_dim/2]
        # 2. Make the latent of the queries and, from it, the unrotated part of every head.
        #    -> [B, H, L, nope_dim]
        # 3. From the same latent, make the rotary part and rotate its neighbours (2i, 2i + 1).
        #    -> [B, H, L, rope_dim]
        # 4. Make the other latent and, from it, unrotated keys and values.
        #    -> [B, H, L, nope_dim], [B, H, L, v_dim]
        # 5. From x, make one rotary key. Rotate it in the same way and give it to all heads.
        #    -> [B, H, L, rope_dim]
        # 6. Join the unrotated and the rotary parts, for q and for k.
        #    -> [B, H, L, nope_dim + rope_dim]
        # 7. Score with the scale of the whole query width, then apply the mask. -> [B, H, L, L]
        # 8. Apply the softmax over the keys, then sum the weighted values. -> [B, H, L, v_dim]
        # 9. Join the heads of each token and project. -> [B, L, M]
        raise NotImplementedError
