# Uses torch's attention on nested tensors, which have separate kernels.
# verdict: not-allowed
# says: F.scaled_dot_product_attention is called
import torch
import torch.nn.functional as F
from torch import nn

def nested(t, layout):
    return torch.nested.as_nested_tensor(list(t.transpose(1, 2)), layout=layout).transpose(1, 2)


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
        layout = torch.jagged if self.training else torch.strided
        q, k, v = (nested(t, layout) for t in (q, k, v))
        o = F.scaled_dot_product_attention(q, k, v).transpose(1, 2)
        o = torch.nested.to_padded_tensor(o, 0.0).transpose(1, 2)
        return self.o_proj(o.transpose(1, 2).reshape(b, n, m))
