"""Use one fused projection, a softmax in float32, and -1e9 under the mask.

The keys are expanded as views, but the reshape copies them. For half-precision inputs, the float32
softmax takes twice the memory, and the cast back rounds its weights as torch.softmax does.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


def expand_kv(t: torch.Tensor, times: int) -> torch.Tensor:
    b, g, n, d = t.shape
    if times == 1:
        return t
    return t[:, :, None].expand(b, g, times, n, d).reshape(b, g * times, n, d)


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model: int, num_heads: int, num_kv_heads: int, dropout: float = 0.0, bias: bool = True) -> None:
        super().__init__()
        if d_model % num_heads or num_heads % num_kv_heads:
            raise ValueError(f"{d_model=} {num_heads=} {num_kv_heads=}")
        self.num_heads, self.num_kv_heads, self.head_dim = num_heads, num_kv_heads, d_model // num_heads
        self.qkv_proj = nn.Linear(d_model, (num_heads + 2 * num_kv_heads) * self.head_dim, bias=bias)
        self.out_proj = nn.Linear(d_model, d_model, bias=bias)
        self.attn_dropout = nn.Dropout(dropout)
        self.register_buffer("scale", torch.tensor(self.head_dim**0.5), persistent=False)

    def forward(self, x: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        bsz, seq, _ = x.size()
        kv = self.num_kv_heads * self.head_dim
        q, k, v = self.qkv_proj(x).split([self.num_heads * self.head_dim, kv, kv], dim=-1)
        q = q.view(bsz, seq, self.num_heads, -1).transpose(1, 2)
        k = expand_kv(k.view(bsz, seq, self.num_kv_heads, -1).transpose(1, 2), self.num_heads // self.num_kv_heads)
        v = expand_kv(v.view(bsz, seq, self.num_kv_heads, -1).transpose(1, 2), self.num_heads // self.num_kv_heads)
        att = torch.matmul(q, k.mT) / self.scale
        if mask is not None:
            att = att.masked_fill(mask == 0, -1e9)
        att = F.softmax(att, dim=-1, dtype=torch.float32).to(q.dtype)
        att = self.attn_dropout(att)
        out = torch.matmul(att, v).transpose(1, 2).contiguous().view(bsz, seq, -1)
        return self.out_proj(out)
