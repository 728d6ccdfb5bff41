"""Compute an output and a logsumexp for every block alone, and merge the blocks pair by pair.

The blocks do not depend on each other, so they can run in parallel. All partial outputs are in
memory at the same time, and the logsumexp takes a second exponential of every score.
"""

import math

import torch


def attend(q, k, v, hidden):
    scores = torch.matmul(q, k.mT) / math.sqrt(q.size(-1))
    if hidden is not None:
        scores = scores.masked_fill(hidden, -1e9)
    return torch.softmax(scores, dim=-1) @ v, torch.logsumexp(scores, dim=-1, keepdim=True)


def merge(one, other):
    (out_a, lse_a), (out_b, lse_b) = one, other
    lse = torch.logaddexp(lse_a, lse_b)
    return out_a * torch.exp(lse_a - lse) + out_b * torch.exp(lse_b - lse), lse


def flash_attention(q, k, v, causal=False, block_size=64):
    dtype = q.dtype
    wide = torch.promote_types(dtype, torch.float32)
    q, k, v = (x.to(wide) for x in (q, k, v))
    q_len, k_len = q.size(2), k.size(2)
    parts = []
    for keys, k_block, v_block in zip(torch.arange(k_len).split(block_size), k.split(block_size, dim=2), v.split(block_size, dim=2)):
        last_seen = torch.arange(q_len)[:, None] + k_len - q_len
        parts.append(attend(q, k_block, v_block, keys[None, :] > last_seen if causal else None))
    while len(parts) > 1:
        pairs = [merge(*parts[i : i + 2]) for i in range(0, len(parts) - 1, 2)]
        parts = pairs + parts[len(pairs) * 2 :]
    return parts[0][0].to(dtype)
