import torch
from torch import nn


class CachedMultiHeadLatentAttention(nn.Module):
    """Causal multi-head latent attention with a cache of latents and rotary keys.

    B batch, L new tokens, P tokens in the cache, M d_model, H heads. All layers are Linear
    without bias: q_down (M, q_rank), q_up (q_rank, H * nope_dim), q_rope (q_rank, H * rope_dim),
    kv_down (M, kv_rank), k_up (kv_rank, H * nope_dim), v_up (kv_rank, H * v_dim),
    k_rope (M, rope_dim), o_proj (H * v_dim, M).
    """

    def __init__(
        self, d_model, num_heads, q_rank, kv_rank, nope_dim, rope_dim, v_dim, rope_base=10000.0
    ):
        super().__init__()
        # 1. Store the number of heads, the widths of a head's parts and the base. -> int, float
        # 2. Make the three layers of the queries. -> q_down, q_up, q_rope
        # 3. Make the four layers of keys and values; k_rope reads x.
        #    -> kv_down, k_up, v_up, k_rope
        # 4. Make the output layer. -> o_proj
        raise NotImplementedError

    def forward(self, x, cache=None):
        """Return out [B, L, M] and the cache of all P + L tokens.

        x [B, L, M], cache None or (c_kv [B, P, kv_rank], k_rope [B, P, rope_dim]).
        """
        # 1. Read P from the cache, and count the positions of the new tokens from P. -> [L]
        # 2. Make the queries of the new tokens and rotate their rotary part, as in mla.
        #    -> [B, H, L, nope_dim], [B, H, L, rope_dim]
        # 3. Make the latent of the new tokens. -> [B, L, kv_rank]
        # 4. Make the rotary key of the new tokens, and rotate it. -> [B, L, rope_dim]
        # 5. Put the cached latents and the cached rotary keys before the new ones, in new tensors.
        #    -> [B, P + L, kv_rank], [B, P + L, rope_dim]
        # 6. Make the unrotated keys and the values of all tokens from the joined latents.
        #    -> [B, H, P + L, nope_dim], [B, H, P + L, v_dim]
        # 7. Join both parts of queries and keys; all heads share the rotary keys.
        #    -> [B, H, L, nope_dim + rope_dim], [B, H, P + L, nope_dim + rope_dim]
        # 8. Score with the scale of the whole query width. -> [B, H, L, P + L]
        # 9. Exclude later tokens: row i is position P + i. -> [B, H, L, P + L]
        # 10. Apply the softmax over the keys, then sum the weighted values. -> [B, H, L, v_dim]
        # 11. Join the heads of each token and project. -> [B, L, M]
        # 12. Return the result, and the joined latents and rotary keys. -> tuple
        raise NotImplementedError
