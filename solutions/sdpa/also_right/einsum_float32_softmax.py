"""einsum over whatever comes before, softmax in float32, the least number of the dtype under the mask."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor


def scaled_dot_product_attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    scale = q.size(-1) ** -0.5
    att = torch.einsum("...id,...jd->...ij", q * scale, k)
    if mask is not None:
        att = att.masked_fill(mask == 0, torch.finfo(att.dtype).min)
    att = F.softmax(att, dim=-1, dtype=torch.float32).type_as(v)
    return torch.einsum("...ij,...jd->...id", att, v)
