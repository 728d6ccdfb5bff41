"""Write tanh(x) as 2 * sigmoid(2x) - 1, and compute scores and softmax in float32.

The two formulas are equal, but near 0 the subtraction cancels digits, and the factor `cap`
magnifies this error. For bfloat16 inputs, the float32 scores take twice the memory and keep the
digits of large scores.
"""

import torch
from torch import Tensor


def softcap_attention(q: Tensor, k: Tensor, v: Tensor, cap: float, mask: Tensor | None = None) -> Tensor:
    wide = torch.promote_types(q.dtype, torch.float32)
    s = torch.einsum("bhid,bhjd->bhij", q.to(wide), k.to(wide)) * q.size(-1) ** -0.5
    s = cap * (2 * torch.sigmoid(2 * s / cap) - 1)
    if mask is not None:
        s = torch.where(mask, s, torch.finfo(wide).min)
    return torch.einsum("bhij,bhjd->bhid", s.softmax(-1).type_as(v), v)
