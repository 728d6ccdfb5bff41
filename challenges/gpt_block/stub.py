import torch
from torch import nn


class GPTBlock(nn.Module):
    """A block of GPT-2: x + attn(ln_1(x)), then x + mlp(ln_2(x)).

    B batch, L length, M d_model, H heads, D = M / H head dim.
    Layers, all with biases: ln_1 and ln_2 LayerNorm(M), attn.qkv_proj Linear(M, 3M), attn.o_proj
    Linear(M, M), mlp.fc Linear(M, 4M), mlp.proj Linear(4M, M).
    """

    def __init__(self, d_model, num_heads, dropout=0.0):
        super().__init__()
        # 1. Refuse M if H does not divide it. -> ValueError
        # 2. Make the two norms. -> LayerNorm(M)
        # 3. Make the module attn with its two layers. -> Linear(M, 3M), Linear(M, M)
        # 4. Make the module mlp with its two layers. -> Linear(M, 4M), Linear(4M, M)
        # 5. Make the dropout of the weights and of both branches. -> Dropout
        raise NotImplementedError

    def forward(self, x):
        """Return the output [B, L, M] of x [B, L, M]. A token sees itself and earlier tokens."""
        # 1. Normalise x, and split the fused projection into heads. -> [B, H, L, D]
        # 2. Score every query with every key, with the scale. -> [B, H, L, L]
        # 3. Hide later keys, apply the softmax over the keys, then the dropout. -> [B, H, L, L]
        # 4. Sum the values, join the heads, and project. -> [B, L, M]
        # 5. Add the result, after its dropout, to x. -> [B, L, M]
        # 6. Normalise the sum, widen it, apply GELU, and narrow it. -> [B, L, M]
        # 7. Add the result, after its dropout, to the sum. -> [B, L, M]
        raise NotImplementedError
