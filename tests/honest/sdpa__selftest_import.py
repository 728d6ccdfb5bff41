"""Self-test against torch's own function under `if __debug__` at import, as interview candidates like to leave in."""
import math
import torch
import torch.nn.functional as F


def scaled_dot_product_attention(q, k, v, mask=None):
    scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask.logical_not(), float("-inf"))
    return torch.matmul(F.softmax(scores, dim=-1), v)


def _check():
    torch.manual_seed(0)
    q, k, v = (torch.randn(2, 3, 4, 8) for _ in range(3))
    mine = scaled_dot_product_attention(q, k, v)
    assert torch.allclose(mine, F.scaled_dot_product_attention(q, k, v), atol=1e-5)


_check()
