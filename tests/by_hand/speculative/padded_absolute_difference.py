# mistakes: absolute-difference
"""The draft is padded with a row of zeros; both signs of the difference count."""

import torch
import torch.nn.functional as F


def accept_draft(draft_tokens, draft_probs, target_probs, uniforms):
    dtype = torch.promote_types(draft_probs.dtype, torch.float32)
    q = F.pad(draft_probs.to(dtype), (0, 0, 0, 1))
    p = target_probs.to(dtype)
    n = len(draft_tokens)
    rows = torch.arange(n)
    ok = uniforms[:n] < (p[rows, draft_tokens] / q[rows, draft_tokens]).clamp(max=1)
    where = (~F.pad(ok, (0, 1))).nonzero()[0, 0]
    gap = torch.abs(p[where] - q[where])  # first wrong
    share = gap / gap.sum()
    token = (share.cumsum(-1) > uniforms[-1]).nonzero()[:1, 0]
    return torch.hstack([draft_tokens[:where], token])
