"""The entry itself is a @torch.jit.script function."""
from typing import Optional
import torch
from torch import Tensor


@torch.jit.script
def scaled_dot_product_attention(q: Tensor, k: Tensor, v: Tensor, mask: Optional[Tensor] = None) -> Tensor:
    s = torch.matmul(q, k.transpose(-2, -1)) / float(q.size(-1)) ** 0.5
    if mask is not None:
        s = s.masked_fill(~mask, -float("inf"))
    return torch.matmul(torch.softmax(s, -1), v)
