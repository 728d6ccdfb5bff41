"""Draw the boundaries into a [total, total] square: no boundary may lie between key and query.

The number of boundaries between two tokens is a difference of counts, so one subtraction serves the
whole square. It is 0 inside a sequence and below 0 for later sequences; the future inside a
sequence needs the second condition.
"""

import torch
from torch import Tensor


def number_of_boundaries(tokens: Tensor, cu_seqlens: Tensor) -> Tensor:
    return torch.searchsorted(cu_seqlens[1:].contiguous(), tokens, side="right")


def packed_attention(q: Tensor, k: Tensor, v: Tensor, cu_seqlens: Tensor) -> Tensor:
    tokens = torch.arange(q.size(0), device=q.device)
    passed = number_of_boundaries(tokens, cu_seqlens)
    between = passed.reshape(-1, 1) - passed.reshape(1, -1)
    later = tokens.reshape(1, -1) - tokens.reshape(-1, 1)
    blocked = between.ne(0).logical_or(later.gt(0))

    wide = torch.promote_types(q.dtype, torch.float32)
    q_, k_, v_ = (x.to(wide).movedim(1, 0) for x in (q, k, v))
    similarity = torch.matmul(q_.div(q.size(2) ** 0.5), k_.transpose(1, 2))
    share = torch.softmax(similarity.masked_fill(blocked, -torch.inf), dim=2)
    return torch.matmul(share, v_).movedim(0, 1).to(q.dtype)
