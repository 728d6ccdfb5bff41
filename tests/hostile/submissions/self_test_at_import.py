# Compares its own attention with torch's at the end of the import, and is right.
# of: gqa
# base: gqa
# family: right: unusual function
# verdict: passed
import torch.nn.functional as F


def scaled_dot_product_attention(q, k, v):
    return torch.softmax(q @ k.mT / q.shape[-1] ** 0.5, -1) @ v


given = torch.randn(2, 3, 4, 5)
expected = F.scaled_dot_product_attention(given, given, given)
assert torch.allclose(scaled_dot_product_attention(given, given, given), expected, atol=1e-5)
assert nn.MultiheadAttention(8, 2)(*[torch.randn(2, 3, 8)] * 3)[0].shape == (2, 3, 8)
