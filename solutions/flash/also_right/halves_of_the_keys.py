"""Split the keys in two by recursion down to a block, and merge the halves on the way back.

The FLOPs of the products stay the same, and the halves could run in parallel. One partial output
per level of the recursion is in memory at the same time, instead of one accumulator.
"""

import torch


def _attend(q, k, v, start, rows, block):
    n = k.shape[2]
    if n <= block:
        s = q @ k.mT
        if rows is not None:
            s = s.masked_fill(
                torch.arange(start, start + n, device=q.device) > rows, torch.finfo(s.dtype).min / 2
            )
        m = s.amax(-1, keepdim=True)
        p = torch.exp(s - m)
        return p @ v, p.sum(-1, keepdim=True), m
    cut = (n // block + 1) // 2 * block if n % block else n // block // 2 * block
    cut = max(block, min(cut, n - 1))
    o1, l1, m1 = _attend(q, k[:, :, :cut], v[:, :, :cut], start, rows, block)
    o2, l2, m2 = _attend(q, k[:, :, cut:], v[:, :, cut:], start + cut, rows, block)
    m = torch.maximum(m1, m2)
    a, b = (m1 - m).exp(), (m2 - m).exp()
    return a * o1 + b * o2, a * l1 + b * l2, m


def flash_attention(q, k, v, causal=False, block_size=64):
    dtype = q.dtype
    wide = torch.promote_types(dtype, torch.float32)
    q, k, v = (x.to(wide) for x in (q, k, v))
    Lq, Lk = q.shape[2], k.shape[2]
    rows = torch.arange(Lk - Lq, Lk, device=q.device)[:, None] if causal else None
    o, l, _ = _attend(q / q.shape[-1] ** 0.5, k, v, 0, rows, block_size)
    return (o / l).to(dtype)
