"""A decoder block of an encoder-decoder: causal attention, attention to memory, and an MLP.

    x = x + self_attn(norm_1(x))               causal
    x = x + cross_attn(norm_2(x), memory)      the mask hides padding of memory
    x = x + mlp(norm_3(x))                     with mlp(y) = proj(gelu(fc(y)))

Each branch reads a normalised copy of x and adds to x; memory is used as it comes.
Vaswani et al. 2017, "Attention Is All You Need", with the norms in front of the branches.
"""

import math

import torch
from torch import nn
from torch.nn import functional as F


class Attention(nn.Module):
    """Attention of x [B, L, M] to a source [B, K, source_dim] with H heads: [B, L, M]."""

    def __init__(self, d_model, num_heads, source_dim):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"d_model {d_model} is not divisible by num_heads {num_heads}")
        self.num_heads = num_heads
        self.head_dim = d_model // num_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(source_dim, d_model)
        self.v_proj = nn.Linear(source_dim, d_model)
        self.o_proj = nn.Linear(d_model, d_model)

    def split_heads(self, t):
        """Return [B, H, K, D] of t [B, K, M]."""
        batch, length, _ = t.shape
        return t.view(batch, length, self.num_heads, self.head_dim).transpose(1, 2)

    def forward(self, x, source, allowed):
        """allowed: bool, broadcastable to [B, H, L, K], True = may attend, or None."""
        q = self.split_heads(self.q_proj(x))  # [B, H, L, D]
        k = self.split_heads(self.k_proj(source))  # [B, H, K, D]
        v = self.split_heads(self.v_proj(source))  # [B, H, K, D]

        scores = q @ k.transpose(-2, -1)  # [B, H, L, K]
        scores = scores / math.sqrt(self.head_dim)
        if allowed is not None:
            scores = scores.masked_fill(~allowed, float("-inf"))
        weights = torch.softmax(scores, dim=-1)

        heads = weights @ v  # [B, H, L, D]
        merged = heads.transpose(1, 2).reshape(x.shape)  # [B, L, M]
        return self.o_proj(merged)


class MLP(nn.Module):
    """Two layers with a GELU between them: [B, L, M] -> [B, L, M]."""

    def __init__(self, d_model):
        super().__init__()
        self.fc = nn.Linear(d_model, 4 * d_model)
        self.proj = nn.Linear(4 * d_model, d_model)

    def forward(self, x):
        hidden = F.gelu(self.fc(x))  # [B, L, 4M]
        return self.proj(hidden)


class DecoderBlock(nn.Module):
    """B batch, L length of x, S length of memory, M d_model, H heads, D = M / H head dim."""

    def __init__(self, d_model, num_heads, memory_dim):
        super().__init__()
        self.norm_1 = nn.LayerNorm(d_model)
        self.self_attn = Attention(d_model, num_heads, d_model)
        self.norm_2 = nn.LayerNorm(d_model)
        self.cross_attn = Attention(d_model, num_heads, memory_dim)
        self.norm_3 = nn.LayerNorm(d_model)
        self.mlp = MLP(d_model)

    def forward(self, x, memory, memory_mask=None):
        length = x.shape[1]
        causal = torch.ones(length, length, dtype=torch.bool, device=x.device).tril()
        # broadcasting aligns from the right: [B, S] would be read as [L, S]
        real = None if memory_mask is None else memory_mask[:, None, None, :]  # [B, 1, 1, S]

        normed = self.norm_1(x)
        own = self.self_attn(normed, normed, causal)  # each token looks back
        x = x + own
        queries = self.norm_2(x)
        found = self.cross_attn(queries, memory, real)  # each token looks into all of memory
        x = x + found
        changed = self.mlp(self.norm_3(x))
        return x + changed
