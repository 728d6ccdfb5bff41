# Compares its own attention with torch's at the end of the import, and is right.
# verdict: passed
import torch
import torch.nn.functional as F
from torch import nn

def scaled_dot_product_attention(q, k, v):
    return torch.softmax(q @ k.mT / q.shape[-1] ** 0.5, -1) @ v


given = torch.randn(2, 3, 4, 5)
expected = F.scaled_dot_product_attention(given, given, given)
assert torch.allclose(scaled_dot_product_attention(given, given, given), expected, atol=1e-5)
assert nn.MultiheadAttention(8, 2)(*[torch.randn(2, 3, 8)] * 3)[0].shape == (2, 3, 8)


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, dropout=0.0, bias=True):
        super().__init__()
        if d_model % num_heads or num_heads % num_kv_heads:
            raise ValueError(f"{d_model} {num_heads} {num_kv_heads}")
        self.h, self.g, self.d = num_heads, num_kv_heads, d_model // num_heads
        self.q_proj = nn.Linear(d_model, d_model, bias=bias)
        self.k_proj = nn.Linear(d_model, self.g * self.d, bias=bias)
        self.v_proj = nn.Linear(d_model, self.g * self.d, bias=bias)
        self.o_proj = nn.Linear(d_model, d_model, bias=bias)
        self.drop = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        b, n, m = x.shape
        q = self.q_proj(x).view(b, n, self.h, self.d).transpose(1, 2)
        k = self.k_proj(x).view(b, n, self.g, self.d).transpose(1, 2)
        v = self.v_proj(x).view(b, n, self.g, self.d).transpose(1, 2)
        k = k.repeat_interleave(self.h // self.g, 1)
        v = v.repeat_interleave(self.h // self.g, 1)
        s = q @ k.mT / self.d**0.5
        if mask is not None:
            s = s.masked_fill(~mask, float("-inf"))
        o = self.drop(s.softmax(-1)) @ v
        return self.o_proj(o.transpose(1, 2).reshape(b, n, m))
