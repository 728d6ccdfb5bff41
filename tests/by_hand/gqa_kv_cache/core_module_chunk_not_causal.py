# mistakes: chunk-not-causal
"""The causal mask is made only without a past, so that the tokens of a chunk on a past see the ones after them."""

import torch, math
import torch.nn as nn
import torch.nn.functional as F


class CachedGroupedQueryAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, bias=False):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError("d_model must be divisible by num_heads")
        if num_heads % num_kv_heads != 0:
            raise ValueError("num_heads must be divisible by num_kv_heads")
        self.n_head, self.n_kv, self.hd = num_heads, num_kv_heads, d_model // num_heads
        self.q_proj = nn.Linear(d_model, d_model, bias=bias)
        self.k_proj = nn.Linear(d_model, self.n_kv * self.hd, bias=bias)
        self.v_proj = nn.Linear(d_model, self.n_kv * self.hd, bias=bias)
        self.o_proj = nn.Linear(d_model, d_model, bias=bias)

    def _shape(self, t, n):
        b, l, _ = t.size()
        return t.view(b, l, n, self.hd).transpose(1, 2)

    def _attend(self, q, k, v, past_len):
        rep = self.n_head // self.n_kv
        k = k.unsqueeze(2).expand(-1, -1, rep, -1, -1).flatten(1, 2)
        v = v.unsqueeze(2).expand(-1, -1, rep, -1, -1).flatten(1, 2)
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(self.hd))
        T, S = att.shape[-2:]
        if past_len == 0:  # while decoding everything is visible anyway  # first wrong
            keep = torch.tril(torch.ones(T, S, device=q.device), diagonal=past_len).bool()
            att = att.masked_fill(keep.logical_not(), float("-inf"))
        return F.softmax(att, dim=-1) @ v

    def forward(self, x, past_kv=None, use_cache=False):
        b, l, m = x.size()
        q = self._shape(self.q_proj(x), self.n_head)
        k = self._shape(self.k_proj(x), self.n_kv)
        v = self._shape(self.v_proj(x), self.n_kv)
        past_len = 0
        if past_kv is not None:
            pk, pv = past_kv
            past_len = pk.size(-2)
            k, v = torch.cat((pk, k), -2), torch.cat((pv, v), -2)
        y = self._attend(q, k, v, past_len).transpose(1, 2).contiguous().view(b, l, m)
        y = self.o_proj(y)
        return (y, (k, v)) if use_cache else y
