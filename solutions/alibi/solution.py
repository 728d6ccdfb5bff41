"""ALiBi: causal attention with a penalty that grows linearly with the distance of a key.

    out = softmax(q k^T / sqrt(D) + m_h (j - i)) v    over j <= i,    m_h = 2**(-8 (h+1) / H)

There are no position embeddings. Each head forgets at its own speed: the first heads attend to near
tokens, the last heads to far tokens too.
Press et al. 2021, "Train Short, Test Long".
"""

import math

import torch


def alibi_slopes(num_heads):
    """-> float32 [H]."""
    if num_heads < 1:
        raise ValueError(f"num_heads must be at least 1; it is {num_heads}")
    nearest = 2 ** math.floor(math.log2(num_heads))  # the largest power of two up to H
    slopes = geometric(nearest)  # [n]
    # the slopes of 2n contain those of n at 1, 3, 5 ..; those at 0, 2, 4 .. are new
    between = geometric(2 * nearest)[0::2]  # [n]
    missing = num_heads - nearest
    return torch.cat((slopes, between[:missing]))  # [H]


def geometric(count):
    """Return the slopes [count] of a power of two: a geometric sequence that ends at 2**-8."""
    exponents = torch.arange(1, count + 1, dtype=torch.float32) * (-8 / count)
    return 2**exponents


def alibi_attention(q, k, v):
    """Return attention [B, H, L, D] of q, k and v, each [B, H, L, D]."""
    heads, length, head_dim = q.shape[-3:]
    if k.shape != q.shape or v.shape[:-1] != q.shape[:-1]:
        raise ValueError(f"q, k and v differ: {list(q.shape)}, {list(k.shape)}, {list(v.shape)}")

    scores = q @ k.transpose(-2, -1)  # [B, H, L, L]
    scores = scores / math.sqrt(head_dim)

    position = torch.arange(length, device=q.device)  # [L]
    distance = position[None, :] - position[:, None]  # [L, L], key minus query: 0 or less
    slopes = alibi_slopes(heads).to(q.device)  # [H]
    bias = slopes[:, None, None] * distance  # [H, L, L]
    # after the scale: the slopes do not depend on D. The bias is float32, so bfloat16 scores
    # become float32 here
    scores = scores + bias  # [B, H, L, L]

    causal = distance <= 0  # [L, L]
    scores = scores.masked_fill(~causal, float("-inf"))
    weights = torch.softmax(scores, dim=-1).to(v.dtype)  # [B, H, L, L]
    return weights @ v  # [B, H, L, D]
