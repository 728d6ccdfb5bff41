"""FlashAttention's forward pass: exact attention, block by block, without [Lq, Lk] scores.

    m' = max(m, max_j s_j)    p_j = exp(s_j - m')    c = exp(m - m')
    l' = c l + sum_j p_j      acc' = c acc + sum_j p_j v_j      out = acc / l after the last block

Dao et al. 2022, "FlashAttention"; the online softmax is Milakov and Gimelshein 2018.
"""

import math

import torch


def flash_attention(q, k, v, causal=False, block_size=64):
    """Return attention [B, H, Lq, D] of q [B, H, Lq, D] to k and v [B, H, Lk, D].

    causal: query i sees key j iff j <= i + (Lk - Lq).
    """
    batch, heads, q_len, head_dim = q.shape
    k_len = k.shape[-2]
    if k.shape[-1] != head_dim:
        raise ValueError(f"q has head dim {head_dim}, k has head dim {k.shape[-1]}")
    if v.shape[-2] != k_len:
        raise ValueError(f"there are {k_len} keys, but {v.shape[-2]} values")
    if causal and q_len > k_len:
        raise ValueError(
            "causal attention needs as many keys as queries or more; "
            f"there are {q_len} queries and {k_len} keys"
        )
    if block_size < 1:
        raise ValueError(f"block_size must be at least 1; it is {block_size}")

    scale = 1 / math.sqrt(head_dim)
    # the queries are the last q_len of k_len positions
    q_pos = torch.arange(q_len, device=q.device)[:, None] + (k_len - q_len)  # [Lq, 1]

    # a running sum of ones in bfloat16 stops at 256, so all three are float32 or finer
    wide = torch.promote_types(q.dtype, torch.float32)
    # not 0: if all scores are far below 0, every exp would underflow and the sum would be 0
    row_max = q.new_full((batch, heads, q_len, 1), float("-inf"), dtype=wide)
    row_sum = q.new_zeros((batch, heads, q_len, 1), dtype=wide)
    acc = q.new_zeros((batch, heads, q_len, head_dim), dtype=wide)

    for start in range(0, k_len, block_size):
        stop = min(start + block_size, k_len)  # the last block may be shorter
        k_block = k[:, :, start:stop]  # [B, H, block, D]
        v_block = v[:, :, start:stop].to(wide)  # [B, H, block, D]

        scores = q @ k_block.transpose(-2, -1) * scale  # [B, H, Lq, block]
        if causal:
            k_pos = torch.arange(start, stop, device=q.device)  # [block]
            scores = scores.masked_fill(k_pos > q_pos, float("-inf"))

        # finite after the first block, because every query sees key 0. Otherwise -inf - -inf below
        # would be NaN
        new_max = torch.maximum(row_max, scores.amax(dim=-1, keepdim=True))  # [B, H, Lq, 1]
        weights = torch.exp(scores - new_max)  # [B, H, Lq, block]
        # the sums so far refer to the old maximum
        correction = torch.exp(row_max - new_max)  # [B, H, Lq, 1]
        row_sum = correction * row_sum + weights.sum(dim=-1, keepdim=True)
        acc = correction * acc + weights @ v_block
        row_max = new_max

    out = acc / row_sum  # [B, H, Lq, D]
    return out.to(q.dtype)
