"""Compute everything in float32, and use exp2 with log2(e) in the scale.

This is more accurate for bfloat16 inputs and less accurate for float64 inputs. A GPU kernel saves
one multiplication per score with exp2. Here, the float32 copies of bfloat16 q, k and v take twice
the memory.
"""

import torch

LOG2_E = 1.4426950408889634


def flash_attention(q, k, v, causal=False, block_size=64):
    b, h, n, d = q.shape
    t = k.shape[2]
    out_dtype = q.dtype
    q, k, v = q.float(), k.float(), v.float()
    scale = LOG2_E / d**0.5
    m = torch.full((b, h, n), -float("inf"))
    l = torch.zeros(b, h, n)
    acc = torch.zeros(b, h, n, d)
    index = torch.arange(t)
    for block in range((t + block_size - 1) // block_size):
        cols = index[block * block_size : (block + 1) * block_size]
        s = scale * (q @ k[:, :, cols].transpose(2, 3))
        if causal:
            s = s + torch.where(cols[None] - (t - n) > torch.arange(n)[:, None], -float("inf"), 0.0)
        new = torch.maximum(m, s.amax(3)).detach()
        p = torch.exp2(s - new[..., None])
        a = torch.exp2(m - new)
        l = l * a + p.sum(3)
        acc = acc * a[..., None] + p @ v[:, :, cols]
        m = new
    return (acc / l[..., None]).to(out_dtype)
