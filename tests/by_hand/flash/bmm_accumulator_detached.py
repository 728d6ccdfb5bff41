# mistakes: accumulator-detached
"""bmm with the heads in the batch and features before queries: scores are [B * H, block, Lq], the output is turned at the end."""

import torch


def flash_attention(q, k, v, causal=False, block_size=64):
    dtype = q.dtype
    wide = torch.promote_types(dtype, torch.float32)
    q, k, v = (x.to(wide) for x in (q, k, v))
    b, h, lq, d = q.shape
    lk = k.shape[2]
    qt = q.reshape(b * h, lq, d).transpose(1, 2) / d**0.5  # [BH, D, Lq]
    ks = k.reshape(b * h, lk, d)
    vt = v.reshape(b * h, lk, d).transpose(1, 2)  # [BH, D, Lk]

    m = qt.new_full((b * h, 1, lq), -torch.inf)
    l = qt.new_zeros(b * h, 1, lq)  # noqa: E741
    acc = qt.new_zeros(b * h, d, lq)
    for lo in range(0, lk, block_size):
        hi = min(lo + block_size, lk)
        s = torch.bmm(ks[:, lo:hi], qt)  # [BH, block, Lq]
        if causal:
            behind = torch.arange(lo, hi)[:, None] <= torch.arange(lk - lq, lk)[None, :]
            s = s.masked_fill(behind.logical_not(), -torch.inf)
        m_new = torch.maximum(m, s.amax(dim=1, keepdim=True))
        p = (s - m_new).exp()
        alpha = (m - m_new).exp()
        l = alpha * l + p.sum(dim=1, keepdim=True)  # noqa: E741
        # no need to keep the graph of every earlier block
        acc = torch.baddbmm(alpha * acc.detach(), vt[:, :, lo:hi], p)  # first wrong
        m = m_new
    return ((acc / l).transpose(1, 2).reshape(b, h, lq, d)).to(dtype)
