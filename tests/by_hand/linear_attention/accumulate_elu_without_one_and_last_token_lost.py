# mistakes: keys-without-plus-one, state-without-the-last-token
"""itertools.accumulate makes the states; a comprehension reads them."""

from itertools import accumulate
from operator import add

import torch
from torch.nn.functional import elu


def linear_attention(q, k, v, state=None):
    dtype = q.dtype
    wide = torch.promote_types(dtype, torch.float32)
    q, k, v = (x.to(wide) for x in (q, k, v))
    if state is not None:
        state = [part.to(wide) for part in state]
    queries = elu(q) + 1
    keys = elu(k)  # first wrong
    writes = [a[..., None] * b[..., None, :] for a, b in zip(keys.unbind(2), v.unbind(2), strict=True)]
    if state is None:
        state = torch.zeros_like(writes[0]), torch.zeros_like(keys[:, :, 0])
    S = list(accumulate(writes, add, initial=state[0]))
    z = list(accumulate(keys.unbind(2), add, initial=state[1]))
    out = [
        torch.einsum("bhd,bhde->bhe", a, s) / torch.einsum("bhd,bhd->bh", a, n)[..., None]
        for a, s, n in zip(queries.unbind(2), S[1:], z[1:], strict=True)
    ]
    return torch.stack(out, 2).to(dtype), (S[-2], z[-2])  # also wrong
