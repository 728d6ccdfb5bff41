# mistakes: no-output-projection
"""The output projection is forgotten: the merged heads are returned as they are."""

import torch
from torch import nn


def my_softmax(x):
    x = x - x.max(dim=-1, keepdim=True)[0]
    ex = x.exp()
    return ex / ex.sum(dim=-1, keepdim=True)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0, bias=True):
        super().__init__()
        self.head_dim, rest = divmod(d_model, num_heads)
        if rest:
            raise ValueError("num_heads has to divide d_model")
        self.d_model = d_model
        self.num_heads = num_heads
        make = lambda: nn.Linear(d_model, d_model, bias=bias)  # noqa: E731
        self.wq = make()
        self.wk = make()
        self.wv = make()
        self.wo = make()
        self.dropout = nn.Dropout(p=dropout)

    def forward(self, query, key, value, mask=None, return_weights=False):
        bsz = query.shape[0]
        xq, xk, xv = [lin(x).view(bsz, -1, self.num_heads, self.head_dim).transpose(1, 2) for lin, x in ((self.wq, query), (self.wk, key), (self.wv, value))]

        att = (xq @ xk.transpose(-2, -1)) * (1.0 / self.head_dim**0.5)
        if mask is not None:
            att = att + torch.zeros_like(mask, dtype=att.dtype).masked_fill(~mask, float("-inf"))
        att = my_softmax(att)
        y = self.dropout(att) @ xv

        y = y.transpose(1, 2).contiguous()
        y = y.view(bsz, -1, self.d_model)
        return (y, att) if return_weights else y  # first wrong
