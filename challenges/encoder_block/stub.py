import torch
from torch import nn


class EncoderBlock(nn.Module):
    """A block of the first Transformer's encoder: norm_1(x + self_attn), then norm_2(x + mlp).

    B batch, L length, M d_model, H heads, D = M / H head dim, F hidden_dim.
    Layers, all with biases: self_attn.q_proj, k_proj, v_proj, o_proj Linear(M, M); mlp.fc
    Linear(M, F), mlp.proj Linear(F, M); norm_1, norm_2 LayerNorm(M).
    """

    def __init__(self, d_model, num_heads, hidden_dim, dropout=0.0):
        super().__init__()
        # 1. Refuse M if H does not divide it. -> ValueError
        # 2. Make the module self_attn with its four layers. -> Linear(M, M)
        # 3. Make the module mlp with its two layers. -> Linear(M, F), Linear(F, M)
        # 4. Make the two norms. -> LayerNorm(M)
        # 5. Make the dropout of the weights and of both branches. -> Dropout
        raise NotImplementedError

    def forward(self, x, padding_mask=None):
        """Return the output [B, L, M].

        x [B, L, M], padding_mask bool [B, L], True = a real token.
        """
        # 1. Split the queries, keys and values of x into heads. -> [B, H, L, D]
        # 2. Score every query with every key, with the scale. -> [B, H, L, L]
        # 3. Add axes to padding_mask: it hides keys, for all heads and queries. -> [B, 1, 1, L]
        # 4. Hide padding, apply the softmax over the keys, then the dropout. -> [B, H, L, L]
        # 5. Sum the values, join the heads, and project. -> [B, L, M]
        # 6. Add the result, after its dropout, to x, and normalise the sum. -> [B, L, M]
        # 7. Widen it, apply ReLU, and narrow it. -> [B, L, M]
        # 8. Add the result, after its dropout, to its input, and normalise. -> [B, L, M]
        raise NotImplementedError
