import torch
from torch import nn


class LlamaBlock(nn.Module):
    """A block of Llama: x + attn(input_norm(x)), then x + mlp(post_norm(x)).

    B batch, L length, M d_model, H query heads, Hkv key/value heads, D head_dim (None: D = M / H),
    F hidden_dim, T max_seq_len.
    Norms: input_norm and post_norm, RMSNorm with a weight [M]. Layers, all without bias:
    attn.q_proj Linear(M, H * D), attn.k_proj and attn.v_proj Linear(M, Hkv * D), attn.o_proj
    Linear(H * D, M), mlp.gate_proj and mlp.up_proj Linear(M, F), mlp.down_proj Linear(F, M).
    """

    def __init__(
        self,
        d_model,
        num_heads,
        num_kv_heads,
        hidden_dim,
        head_dim=None,
        max_seq_len=2048,
        rope_base=10000.0,
        eps=1e-6,
    ):
        super().__init__()
        # 1. Without head_dim, refuse M if H does not divide it. -> ValueError
        # 2. Refuse H if Hkv does not divide it. -> ValueError
        # 3. Make the two norms, with this eps. -> RMSNorm(M)
        # 4. Make q_proj and o_proj of attn for H heads. -> Linear(M, H * D), Linear(H * D, M)
        # 5. Make k_proj and v_proj of attn for only Hkv heads. -> Linear(M, Hkv * D)
        # 6. Compute the angles t * base**(-2i/D) and store cosines and sines. -> [T, D]
        # 7. Make the module mlp with its three layers. -> Linear(M, F), Linear(F, M)
        raise NotImplementedError

    def forward(self, x, position_ids=None):
        """Return the output [B, L, M] of x [B, L, M]. A token sees itself and earlier tokens.

        position_ids int64 [B, L], entries 0 .. T-1 in any order; None = 0 .. L-1. They rotate
        queries and keys, and they do not decide which tokens are earlier.
        """
        # 1. Normalise x, project it, and split it into heads. -> [B, H, L, D], [B, Hkv, L, D]
        # 2. Rotate the pairs (i, i + D/2) of queries and keys by their positions. -> [B, H, L, D]
        # 3. Give every query head its key/value head: neighbouring heads share one. -> [B, H, L, D]
        # 4. Score every query with every key, with the scale. -> [B, H, L, L]
        # 5. Hide later tokens, and apply the softmax over the keys. -> [B, H, L, L]
        # 6. Sum the values, join the heads, and project. -> [B, L, M]
        # 7. Add the result to x. -> [B, L, M]
        # 8. Normalise the sum, and compute the gate with SiLU. -> [B, L, F]
        # 9. Multiply it by the other projection, and narrow it. -> [B, L, M]
        # 10. Add the result to the sum. -> [B, L, M]
        raise NotImplementedError
