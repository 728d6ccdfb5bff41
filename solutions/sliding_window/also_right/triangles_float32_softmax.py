"""Make the mask from two triangles of ones, add it as a bias, and take the softmax in float32.

tril and triu express the band in one line, but it is easy to get the diagonal wrong by one. The
added bias costs one more [L, L] tensor, and the float32 softmax takes twice the memory for bfloat16
inputs.
"""

import torch


def sliding_window_attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, window: int) -> torch.Tensor:
    n = q.size(-2)
    band = torch.ones(n, n, dtype=torch.bool, device=q.device).tril().triu(1 - window)
    bias = torch.zeros(n, n, dtype=q.dtype, device=q.device).masked_fill_(~band, -1e9)
    att = torch.einsum("bhid,bhjd->bhij", q * q.size(-1) ** -0.5, k) + bias
    att = torch.nn.functional.softmax(att, dim=-1, dtype=torch.float32).type_as(v)
    return torch.einsum("bhij,bhjd->bhid", att, v)
