# mistakes: fused-head-by-head
"""Few lines: one view splits the fused projection, complex numbers turn queries and keys together."""

import torch
from torch import nn


class RoPEMultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, max_seq_len=2048, rope_base=10000.0, dropout=0.0, bias=True):
        super().__init__()
        if d_model % num_heads != 0: raise ValueError("d_model % num_heads")
        self.H, self.D, self.base, self.p = num_heads, d_model // num_heads, rope_base, dropout
        self.qkv_proj, self.o_proj = nn.Linear(d_model, 3 * d_model, bias), nn.Linear(d_model, d_model, bias)

    def forward(self, x, mask=None, position_ids=None):
        B, L, M = x.shape
        t = torch.arange(L, device=x.device)[None] if position_ids is None else position_ids
        theta = t.double()[:, None, :, None] * self.base ** (torch.arange(self.D // 2, device=x.device).double() * -2 / self.D)
        q, k, v = self.qkv_proj(x).view(B, L, self.H, 3, self.D).permute(3, 0, 2, 1, 4)  # first wrong
        qk = torch.stack((q, k)).double().unflatten(-1, (2, -1))
        qk = torch.complex(qk[..., 0, :], qk[..., 1, :]) * torch.polar(torch.ones_like(theta), theta)
        q, k = torch.cat((qk.real, qk.imag), -1).to(x.dtype)
        s = q @ k.mT / self.D**0.5
        w = (s if mask is None else torch.where(mask, s, -torch.inf)).softmax(-1)
        return self.o_proj((nn.functional.dropout(w, self.p, self.training) @ v).transpose(1, 2).flatten(2))
