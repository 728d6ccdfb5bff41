"""Keep the exponentials of each block together with the maximum that they refer to.

exp runs only once over the entries, and one factor for each block and row corrects them at the end.
The exponentials of an early block are rounded twice, and they need as much memory as the blocks.
"""

import torch


def online_softmax(blocks):
    parts = []
    top = denominator = None
    for block in blocks:
        x = block.to(torch.promote_types(block.dtype, torch.float32))
        # the lowest number, so that a block of -inf has a finite peak
        peak = x.amax(-1, True).clamp(min=torch.finfo(x.dtype).min)
        if top is not None:
            higher = torch.where(peak > top, peak, top)
            denominator = denominator * (top - higher).exp()
            top = higher
        else:
            top, denominator = peak, torch.zeros_like(peak)
        e = (x - top).exp()
        denominator = denominator + e.sum(-1, True)
        parts.append((e, top))
    # 0 for a row of -inf only: every sum is at least 1
    denominator = denominator.clamp(min=1)
    return torch.cat([e * ((at - top).exp() / denominator) for e, at in parts], -1).to(block.dtype)
