# mistakes: no-denominator
"""All prefix sums at once, letters of einsum for every product."""

import torch
from torch.nn.functional import elu


def linear_attention(q, k, v, state=None):
    dtype = q.dtype
    wide = torch.promote_types(dtype, torch.float32)
    q, k, v = (x.to(wide) for x in (q, k, v))
    if state is not None:
        state = [part.to(wide) for part in state]
    Q = elu(q) + 1
    K = elu(k) + 1
    prefix = torch.einsum("bhtd,bhte->bhtde", K, v).cumsum(2)
    normal = K.cumsum(2)
    if state is not None:
        before, before_normal = state
        prefix = prefix + before[:, :, None]
        normal = normal + before_normal[:, :, None]
    result = torch.einsum("bhtd,bhtde->bhte", Q, prefix)  # first wrong
    return result.to(dtype), (prefix[:, :, -1], normal[:, :, -1])
