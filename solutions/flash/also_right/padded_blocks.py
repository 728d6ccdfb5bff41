"""Pad keys and values to whole blocks, and hide the padding with an additive bias.

All blocks have the same shape, which suits kernels with fixed tile sizes. Both products have the
dtype of the inputs, as in a kernel, and only the sums are float32. The padding copies the keys and
values, and the bias is added in every block, even without a causal mask.
"""

import math

import torch
import torch.nn.functional as F


def flash_attention(q, k, v, causal=False, block_size=64):
    B, H, Lq, D = q.shape
    Lk = k.size(-2)
    block_size = min(block_size, Lk)
    pad = -Lk % block_size
    k_blocks = F.pad(k, (0, 0, 0, pad)).unflatten(2, (-1, block_size)).unbind(2)
    v_blocks = F.pad(v, (0, 0, 0, pad)).unflatten(2, (-1, block_size)).unbind(2)
    limit = torch.arange(Lk - Lq, Lk) if causal else torch.full((Lq,), Lk - 1)
    limit = limit.to(q.device).view(Lq, 1)

    wide = torch.promote_types(q.dtype, torch.float32)
    m = q.new_full((B, H, Lq), -1e30, dtype=wide)
    denominator = q.new_zeros(B, H, Lq, dtype=wide)
    numerator = q.new_zeros(B, H, Lq, D, dtype=wide)
    for i, (kb, vb) in enumerate(zip(k_blocks, v_blocks)):
        position = torch.arange(i * block_size, (i + 1) * block_size, device=q.device)
        bias = q.new_zeros(Lq, block_size).masked_fill(position > limit, -1e30)
        logits = torch.matmul(q, kb.transpose(-1, -2)).to(wide).div(math.sqrt(D)) + bias
        m_block, _ = logits.max(dim=-1)
        e = torch.exp(logits - m_block.unsqueeze(-1))
        m_new = torch.maximum(m, m_block)
        old, new = torch.exp(m - m_new), torch.exp(m_block - m_new)
        denominator = denominator * old + e.sum(dim=-1) * new
        numerator = numerator * old.unsqueeze(-1) + torch.matmul(e.to(vb.dtype), vb) * new.unsqueeze(-1)
        m = m_new
    return numerator.div(denominator.unsqueeze(-1)).to(q.dtype)
