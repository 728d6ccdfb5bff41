"""Take the entries one at a time, as the recurrence is written in the paper.

Every step has a single new entry, so no maximum or sum over a block is needed. The number of
operations grows with the number of entries, which is slow in Python.
"""

import torch


def online_softmax(blocks):
    columns = []
    m = s = None
    for block in blocks:
        for x in block.to(torch.promote_types(block.dtype, torch.float32)).unbind(-1):
            columns.append(x)
            if m is None:
                m, s = torch.full_like(x, -torch.inf), torch.zeros_like(x)
            new = torch.where(x > m, x, m)
            base = torch.where(new.isneginf(), 0.0, new)
            s = s * (m - base).exp() + (x - base).exp()
            m = new
    s = torch.where(s == 0, 1.0, s)
    return torch.stack([(x - base).exp() / s for x in columns], dim=-1).to(block.dtype)
