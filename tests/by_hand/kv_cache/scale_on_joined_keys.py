# mistakes: keys-scaled-in-cache
"""Names as in BERT; the mask is added, the softmax is in float32, the scale is put on the keys."""

import torch
import torch.nn.functional as F
from torch import nn


class CachedMultiHeadAttention(nn.Module):
    def __init__(self, d_model: int, num_heads: int, bias: bool = True):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError("d_model % num_heads")
        self.num_heads = num_heads
        self.scaling = (d_model // num_heads) ** -0.5
        self.query = nn.Linear(d_model, d_model, bias=bias)
        self.key = nn.Linear(d_model, d_model, bias=bias)
        self.value = nn.Linear(d_model, d_model, bias=bias)
        self.dense = nn.Linear(d_model, d_model, bias=bias)

    def transpose_for_scores(self, t):
        return t.view(*t.shape[:2], self.num_heads, -1).permute(0, 2, 1, 3)

    def forward(self, x, past_kv=None, use_cache=False):
        query_layer = self.transpose_for_scores(self.query(x))
        key_layer = self.transpose_for_scores(self.key(x))
        value_layer = self.transpose_for_scores(self.value(x))
        if past_kv is not None:
            key_layer = torch.cat([past_kv[0], key_layer], dim=-2)
            value_layer = torch.cat([past_kv[1], value_layer], dim=-2)
        present = (key_layer * self.scaling, value_layer)  # first wrong
        attention_scores = torch.matmul(query_layer, present[0].transpose(-1, -2))
        q_len, kv_len = attention_scores.shape[-2:]
        bias = torch.full((q_len, kv_len), torch.finfo(x.dtype).min, dtype=x.dtype, device=x.device)
        attention_scores = attention_scores + bias.triu(kv_len - q_len + 1)
        probs = F.softmax(attention_scores, dim=-1, dtype=torch.promote_types(x.dtype, torch.float32)).to(x.dtype)
        context = torch.matmul(probs, present[1]).permute(0, 2, 1, 3).flatten(2)
        context = self.dense(context)
        outputs = (context, present) if use_cache else context
        return outputs
