"""Give each half of the keys to a thread and merge the two results, as flash decoding does.

The threads can use cores that a single operation leaves free, but two accumulators and two blocks
of scores are in memory together. A no_grad around the call does not reach the threads. The threads
share no leaf of autograd: in torch 2.13, two threads that use the same leaf can block each other.
"""

import math
from concurrent.futures import ThreadPoolExecutor
import torch


def run(q, k, v, start, causal, Lk, size):
    m = torch.full_like(q[..., :1], -math.inf)
    l, o = torch.zeros_like(m), torch.zeros_like(q)
    rows = torch.arange(q.shape[2])[:, None] + Lk - q.shape[2]
    for s in range(0, k.shape[2], size):
        x = q @ k[:, :, s : s + size].mT
        if causal:
            x = x.masked_fill(torch.arange(start + s, start + s + x.shape[-1]) > rows, -1e30)
        n = torch.maximum(m, x.amax(-1, keepdim=True))
        p, a = (x - n).exp(), (m - n).exp()
        m, l, o = n, a * l + p.sum(-1, keepdim=True), a * o + p @ v[:, :, s : s + size]
    return m, l, o


def flash_attention(q, k, v, causal=False, block_size=64):
    dtype = q.dtype
    wide = torch.promote_types(dtype, torch.float32)
    q, k, v = q.to(wide) / math.sqrt(q.shape[-1]), k.to(wide), v.to(wide)
    Lk = k.shape[2]
    half = (-(-Lk // block_size) // 2) * block_size
    cuts = [(0, half), (half, Lk)] if half else [(0, Lk)]
    with ThreadPoolExecutor(2) as pool:
        futures = [
            pool.submit(run, q, k[:, :, a:b], v[:, :, a:b], a, causal, Lk, block_size)
            for a, b in cuts
        ]
        got = [f.result() for f in futures]
    m = got[0][0] if len(got) == 1 else torch.maximum(got[0][0], got[1][0])
    l = sum((x[0] - m).exp() * x[1] for x in got)
    o = sum((x[0] - m).exp() * x[2] for x in got)
    return (o / l).to(dtype)
