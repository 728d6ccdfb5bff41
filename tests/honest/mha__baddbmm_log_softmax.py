"""torch.baddbmm on [B*H, L, D] as fairseq and OPT do, mask as an additive bias, exp of log_softmax."""
import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0, bias=True):
        super().__init__()
        self.embed_dim = d_model
        self.num_heads = num_heads
        self.head_dim = d_model // num_heads
        if self.head_dim * num_heads != d_model:
            raise ValueError(f"embed_dim must be divisible by num_heads (got {d_model} and {num_heads})")
        self.scaling = self.head_dim**-0.5
        self.k_proj = nn.Linear(d_model, d_model, bias=bias)
        self.v_proj = nn.Linear(d_model, d_model, bias=bias)
        self.q_proj = nn.Linear(d_model, d_model, bias=bias)
        self.out_proj = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = dropout

    def _shape(self, t, length, bsz):
        return t.view(bsz, length, self.num_heads, self.head_dim).transpose(1, 2).contiguous()

    def forward(self, query, key, value, attn_mask=None, need_weights=False):
        bsz, tgt_len, _ = query.size()
        src_len = key.size(1)
        shape = (bsz * self.num_heads, -1, self.head_dim)
        q = self._shape(self.q_proj(query) * self.scaling, tgt_len, bsz).view(*shape)
        k = self._shape(self.k_proj(key), src_len, bsz).view(*shape)
        v = self._shape(self.v_proj(value), src_len, bsz).view(*shape)
        if attn_mask is None:
            logits = torch.bmm(q, k.transpose(1, 2))
        else:
            bias = torch.zeros(bsz, self.num_heads, tgt_len, src_len, dtype=q.dtype, device=q.device)
            bias = bias.masked_fill(~attn_mask, torch.finfo(q.dtype).min)
            logits = torch.baddbmm(bias.flatten(0, 1), q, k.transpose(1, 2))
        if logits.size() != (bsz * self.num_heads, tgt_len, src_len):
            raise ValueError(f"got {logits.size()}")
        probs = torch.log_softmax(logits, -1).exp()
        w = probs.view(bsz, self.num_heads, tgt_len, src_len)
        probs = nn.functional.dropout(probs, p=self.dropout, training=self.training)
        o = torch.bmm(probs, v)
        o = o.view(bsz, self.num_heads, tgt_len, self.head_dim).transpose(1, 2)
        o = self.out_proj(o.reshape(bsz, tgt_len, self.embed_dim))
        if need_weights:
            return o, w
        return o
