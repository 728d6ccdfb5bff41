"""A block of Llama: attention with rotary positions and SwiGLU, each pre-norm with a residual.

    x = x + attn(input_norm(x))
    x = x + mlp(post_norm(x))            with mlp(y) = down_proj(silu(gate_proj(y)) * up_proj(y))

    norm(x) = x / sqrt(mean(x**2) + eps) * weight
    attn:  out_h = softmax((R_m q_h) (R_n k_g)^T / sqrt(D)) v_g     over the keys up to the query,
           with g = h // (H / Hkv), query at position m, key at position n

R_t rotates features i and i + D/2 by the angle t * base**(-2i/D). The causal order is the order of
the tokens in x; positions only rotate.
Touvron et al. 2023, "LLaMA: Open and Efficient Foundation Language Models"; Grattafiori et al.
2024, "The Llama 3 Herd of Models".
"""

import math

import torch
from torch import nn
from torch.nn import functional as F


class RMSNorm(nn.Module):
    """Divide by the root of the mean square of the features: [..., M] -> [..., M]."""

    def __init__(self, dim, eps):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        # the statistics are in float32 or finer, the result has the dtype of x
        wide = x.to(torch.promote_types(x.dtype, torch.float32))
        mean_square = wide.pow(2).mean(dim=-1, keepdim=True)  # [..., 1]
        normed = wide * torch.rsqrt(mean_square + self.eps)
        scaled = normed * self.weight
        return scaled.to(x.dtype)


class LlamaAttention(nn.Module):
    """Causal grouped-query attention with RoPE, without biases: [B, L, M] -> [B, L, M]."""

    def __init__(self, d_model, num_heads, num_kv_heads, head_dim, max_seq_len, rope_base):
        super().__init__()
        if head_dim is None:
            if d_model % num_heads != 0:
                raise ValueError(f"d_model {d_model} is not divisible by num_heads {num_heads}")
            head_dim = d_model // num_heads
        if num_heads % num_kv_heads != 0:
            raise ValueError(
                f"num_heads {num_heads} is not divisible by num_kv_heads {num_kv_heads}"
            )
        self.num_heads = num_heads
        self.num_kv_heads = num_kv_heads
        self.head_dim = head_dim
        # H * D may be smaller or larger than M
        self.q_proj = nn.Linear(d_model, num_heads * head_dim, bias=False)
        self.k_proj = nn.Linear(d_model, num_kv_heads * head_dim, bias=False)
        self.v_proj = nn.Linear(d_model, num_kv_heads * head_dim, bias=False)
        self.o_proj = nn.Linear(num_heads * head_dim, d_model, bias=False)

        exponents = torch.arange(0, head_dim, 2) / head_dim  # [D/2], 2i / D
        frequencies = rope_base**-exponents  # [D/2]
        angles = torch.arange(max_seq_len)[:, None] * frequencies  # [T, D/2]
        angles = torch.cat((angles, angles), dim=-1)  # [T, D], one angle for features i and i + D/2
        # .to(bfloat16) also rounds buffers: fine for a cosine, but not for an angle of 1001.5
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)

    def forward(self, x, position_ids):
        batch, length, _ = x.shape
        if position_ids is None:
            position_ids = torch.arange(length, device=x.device)[None]  # [1, L]

        # q [B, H, L, D], k and v [B, Hkv, L, D]
        q = self.q_proj(x).view(batch, length, self.num_heads, self.head_dim).transpose(1, 2)
        k = self.k_proj(x).view(batch, length, self.num_kv_heads, self.head_dim).transpose(1, 2)
        v = self.v_proj(x).view(batch, length, self.num_kv_heads, self.head_dim).transpose(1, 2)

        cos = self.cos[position_ids].unsqueeze(1)  # [B, 1, L, D]
        sin = self.sin[position_ids].unsqueeze(1)  # [B, 1, L, D]
        q = q * cos + rotate_half(q) * sin
        k = k * cos + rotate_half(k) * sin

        # repeat_interleave gives K0 K0 K1 K1: neighbours share; repeat would give K0 K1 K0 K1
        group_size = self.num_heads // self.num_kv_heads
        k = k.repeat_interleave(group_size, dim=1)  # [B, H, L, D]
        v = v.repeat_interleave(group_size, dim=1)  # [B, H, L, D]

        scores = q @ k.transpose(-2, -1)  # [B, H, L, L]
        scores = scores / math.sqrt(self.head_dim)
        # causal by the index in x: positions may repeat or fall
        causal = torch.ones(length, length, dtype=torch.bool, device=x.device).tril()
        scores = scores.masked_fill(~causal, float("-inf"))
        weights = torch.softmax(scores, dim=-1)  # [B, H, L, L]

        heads = weights @ v  # [B, H, L, D]
        merged = heads.transpose(1, 2).reshape(batch, length, -1)  # [B, L, H * D]
        return self.o_proj(merged)


def rotate_half(x):
    """Rotate every pair by a quarter turn: (a, b) -> (-b, a)."""
    a, b = x.chunk(2, dim=-1)  # [..., D/2] each
    return torch.cat((-b, a), dim=-1)  # [..., D]


class SwiGLU(nn.Module):
    """Multiply two wide projections, one of them through SiLU: [B, L, M] -> [B, L, M]."""

    def __init__(self, dim, hidden_dim):
        super().__init__()
        self.gate_proj = nn.Linear(dim, hidden_dim, bias=False)
        self.up_proj = nn.Linear(dim, hidden_dim, bias=False)
        self.down_proj = nn.Linear(hidden_dim, dim, bias=False)

    def forward(self, x):
        gate = F.silu(self.gate_proj(x))  # [B, L, F]
        up = self.up_proj(x)  # [B, L, F]
        hidden = gate * up
        return self.down_proj(hidden)


class LlamaBlock(nn.Module):
    """B batch, L length, M d_model, H query heads, Hkv key/value heads, D head dim (by default
    M / H), F hidden_dim, T max_seq_len.
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
        self.input_norm = RMSNorm(d_model, eps)
        self.attn = LlamaAttention(
            d_model, num_heads, num_kv_heads, head_dim, max_seq_len, rope_base
        )
        self.post_norm = RMSNorm(d_model, eps)
        self.mlp = SwiGLU(d_model, hidden_dim)

    def forward(self, x, position_ids=None):
        """x [B, L, M], position_ids int64 [B, L] or None -> [B, L, M]."""
        attended = self.attn(self.input_norm(x), position_ids)
        x = x + attended
        changed = self.mlp(self.post_norm(x))
        return x + changed
