# mistakes: values-after-new
"""One fused projection; the joined keys and values are written into memory made for them; the softmax by hand."""

import torch
import torch.nn as nn


class CachedMultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, bias=True):
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"{d_model=} {num_heads=}")
        self.nh, self.hs = num_heads, d_model // num_heads
        self.c_attn = nn.Linear(d_model, 3 * d_model, bias=bias)
        self.c_proj = nn.Linear(d_model, d_model, bias=bias)

    def forward(self, x, past_kv=None, use_cache=False):
        B, T, C = x.shape
        q, new_k, new_v = self.c_attn(x).view(B, T, 3, self.nh, self.hs).permute(2, 0, 3, 1, 4)
        P = 0 if past_kv is None else past_kv[0].shape[2]
        k = x.new_zeros(B, self.nh, P + T, self.hs)
        v = x.new_zeros(B, self.nh, P + T, self.hs)
        if past_kv is not None:
            k[:, :, :P] = past_kv[0]
            v[:, :, T:] = past_kv[1]  # first wrong
        k[:, :, P:] = new_k
        v[:, :, :T] = new_v

        att = (q * self.hs**-0.5) @ k.mT
        seen = torch.ones(T, P + T, dtype=torch.bool, device=x.device).tril(P)
        att = torch.where(seen, att, torch.finfo(att.dtype).min)
        att = (att - att.max(dim=-1, keepdim=True)[0]).exp()
        att = att / att.sum(dim=-1, keepdim=True)
        y = self.c_proj((att @ v).transpose(1, 2).reshape(B, T, C))
        return y if not use_cache else (y, (k, v))
