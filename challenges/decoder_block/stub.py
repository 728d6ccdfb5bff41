import torch
from torch import nn


class DecoderBlock(nn.Module):
    """A decoder block: x + self_attn, then + cross_attn to memory, then + mlp; all pre-norm.

    B batch, L length of x, S length of memory, M d_model, H heads, D = M / H head dim.
    Layers, all with biases: norm_1, norm_2, norm_3 LayerNorm(M); q_proj, k_proj, v_proj, o_proj in
    self_attn Linear(M, M), the same in cross_attn, but k_proj and v_proj Linear(memory_dim, M);
    mlp.fc Linear(M, 4M), mlp.proj Linear(4M, M).
    """

    def __init__(self, d_model, num_heads, memory_dim):
        super().__init__()
        # 1. Refuse M if H does not divide it. -> ValueError
        # 2. Make the three norms. -> LayerNorm(M)
        # 3. Make the module self_attn with its four layers. -> Linear(M, M)
        # 4. Make cross_attn, whose keys and values read memory. -> Linear(memory_dim, M)
        # 5. Make the module mlp with its two layers. -> Linear(M, 4M), Linear(4M, M)
        raise NotImplementedError

    def forward(self, x, memory, memory_mask=None):
        """Return the output [B, L, M].

        x [B, L, M], memory [B, S, memory_dim], memory_mask bool [B, S], True = a real token.
        """
        # 1. Make the causal mask of x. -> [L, L]
        # 2. Add axes to memory_mask: it is the same for all heads and queries. -> [B, 1, 1, S]
        # 3. Normalise x and split its queries, keys and values into heads. -> [B, H, L, D]
        # 4. Attend causally, join the heads, project, and add the result to x. -> [B, L, M]
        # 5. Normalise the sum and split its queries into heads. -> [B, H, L, D]
        # 6. Split the keys and values of memory, which gets no norm, into heads. -> [B, H, S, D]
        # 7. Attend to the real tokens, join, project, and add the result to the sum. -> [B, L, M]
        # 8. Normalise the new sum, widen it, apply GELU, and narrow it. -> [B, L, M]
        # 9. Add the result to the new sum. -> [B, L, M]
        raise NotImplementedError
