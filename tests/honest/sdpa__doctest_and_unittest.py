"""unittest.TestCase in the file, doctests, warnings; q scaled by D**-0.25 on both sides; log_softmax."""
import unittest
import warnings

import torch


def scaled_dot_product_attention(query, key, value, attn_mask=None):
    """Attend.

    >>> scaled_dot_product_attention(torch.ones(1, 2), torch.ones(1, 2), torch.tensor([[3., 4.]]))
    tensor([[3., 4.]])
    """
    if query.dtype == torch.float16:
        warnings.warn("float16 may overflow")
    scale = query.size(-1) ** -0.25
    s = (query * scale) @ (key * scale).mT
    if attn_mask is not None:
        if attn_mask.dtype != torch.bool:
            raise TypeError(f"mask must be bool, not {attn_mask.dtype}")
        s = s.masked_fill(~attn_mask, float("-inf"))
    return torch.log_softmax(s, -1).exp() @ value


class Test(unittest.TestCase):
    def test_one(self):
        self.assertTrue(torch.equal(scaled_dot_product_attention(*[torch.ones(1, 1)] * 3), torch.ones(1, 1)))
