# mistakes: last-block-dropped
"""A column of ones beside the values: the accumulator's last column is the sum of exps, so there is only one thing to rescale."""

import torch
import torch.nn.functional as F


def flash_attention(q, k, v, causal=False, block_size=64):
    dtype = q.dtype
    wide = torch.promote_types(dtype, torch.float32)
    q, k, v = (x.to(wide) for x in (q, k, v))
    (b, h, n, d), t = q.shape, k.shape[2]
    v1 = F.pad(v, (0, 1), value=1.0)
    acc, m = q.new_zeros(b, h, n, v1.shape[-1]), q.new_full((b, h, n, 1), torch.finfo(q.dtype).min)
    for i in range(t // block_size):  # first wrong
        cut = slice(i * block_size, (i + 1) * block_size)
        s = (q @ k[:, :, cut].transpose(2, 3)) * d**-0.5
        if causal:
            pos = torch.arange(t)[cut]
            s = s.masked_fill(pos[None, :] > torch.arange(n)[:, None] + t - n, float("-inf"))
        m, old = torch.maximum(m, s.amax(3, keepdim=True)), m
        acc = acc * (old - m).exp() + (s - m).exp() @ v1[:, :, cut]
    return (acc[..., :-1] / acc[..., -1:]).to(dtype)
