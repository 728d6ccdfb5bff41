# mistakes: mask-inverted
"""Many short lines: an additive mask, the softmax by hand."""

import torch
from torch import nn


class LlamaAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, max_seq_len=2048, rope_base=10000.0):
        super().__init__()
        head_dim = d_model // num_heads
        if head_dim * num_heads != d_model:
            raise ValueError("num_heads must divide d_model")
        share = num_heads // num_kv_heads
        if share * num_kv_heads != num_heads:
            raise ValueError("num_kv_heads must divide num_heads")
        self.num_heads = num_heads
        self.num_kv_heads = num_kv_heads
        self.head_dim = head_dim
        self.share = share
        self.to_q = nn.Linear(d_model, d_model, bias=False)
        self.to_kv = nn.Linear(d_model, 2 * num_kv_heads * head_dim, bias=False)
        self.to_out = nn.Linear(d_model, d_model, bias=False)
        exponent = torch.arange(0, head_dim, 2).float() / head_dim
        inverse = 1.0 / rope_base**exponent
        time = torch.arange(max_seq_len).float()
        table = torch.outer(time, inverse)
        self.register_buffer("cos_table", table.cos(), persistent=False)
        self.register_buffer("sin_table", table.sin(), persistent=False)

    def rotate(self, heads, cos, sin):
        real, imaginary = heads.tensor_split(2, dim=3)
        new_real = real * cos - imaginary * sin
        new_imaginary = real * sin + imaginary * cos
        return torch.cat([new_real, new_imaginary], dim=3)

    def forward(self, x, mask=None, position_ids=None):
        batch, tokens, features = x.shape
        queries = self.to_q(x)
        queries = queries.view(batch, tokens, self.num_heads, self.head_dim)
        queries = queries.transpose(1, 2)
        both = self.to_kv(x)
        both = both.view(batch, tokens, 2, self.num_kv_heads, self.head_dim)
        keys = both[:, :, 0].transpose(1, 2)
        values = both[:, :, 1].transpose(1, 2)

        if position_ids is None:
            cos = self.cos_table[:tokens]
            sin = self.sin_table[:tokens]
        else:
            cos = self.cos_table[position_ids].unsqueeze(1)
            sin = self.sin_table[position_ids].unsqueeze(1)
        queries = self.rotate(queries, cos, sin)
        keys = self.rotate(keys, cos, sin)

        keys = torch.stack([keys] * self.share, dim=2).flatten(1, 2)
        values = torch.stack([values] * self.share, dim=2).flatten(1, 2)

        logits = torch.matmul(queries, keys.transpose(2, 3))
        logits = logits * self.head_dim**-0.5
        if mask is not None:
            penalty = torch.where(mask, float("-inf"), 0.0)  # first wrong
            logits = logits + penalty.to(logits.dtype)
        highest = logits.max(dim=-1, keepdim=True).values
        powers = torch.exp(logits - highest)
        total = powers.sum(dim=-1, keepdim=True)
        weights = powers / total

        mixed = torch.matmul(weights, values)
        mixed = mixed.transpose(1, 2)
        mixed = mixed.reshape(batch, tokens, features)
        return self.to_out(mixed)
