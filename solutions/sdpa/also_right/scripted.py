"""Compile the function of the reference with TorchScript, which needs type annotations.

The operations and the memory are those of the reference. TorchScript is deprecated in favour of
torch.compile, and the annotations are limited to the types that it knows.
"""

import math
from typing import Optional

import torch
from torch import Tensor


@torch.jit.script
def scaled_dot_product_attention(q: Tensor, k: Tensor, v: Tensor, mask: Optional[Tensor] = None) -> Tensor:
    scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask.logical_not(), float("-inf"))
    return torch.matmul(torch.softmax(scores, dim=-1), v)
