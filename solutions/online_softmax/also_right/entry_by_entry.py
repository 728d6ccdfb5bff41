"""Take the entries one at a time, as the recurrence is written in the paper.

Every step has a single new entry, so no maximum or sum over a block is needed. The number of
operations grows with the number of entries, which is slow in Python.
"""

import torch


def online_softmax(blocks):
    columns = []
    m = s = None
    for block in blocks:
        for x in block.unbind(-1):
            columns.append(x)
            if m is None:
                m, s = x, torch.ones_like(x)
                continue
            new = torch.where(x > m, x, m)
            s = s * (m - new).exp() + (x - new).exp()
            m = new
    return torch.stack([(x - m).exp() / s for x in columns], dim=-1)
