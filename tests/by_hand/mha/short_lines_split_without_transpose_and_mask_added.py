# mistakes: heads-split-without-transpose, mask-added-as-number
"""Short lines after a picture of the paper, layers in a dict, logsumexp instead of softmax."""

import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0, bias=True):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError("num_heads does not divide d_model")
        self.n = num_heads
        self.d = d_model // num_heads
        layers = {}
        for name in ("query", "key", "value", "output"):
            layers[name] = nn.Linear(d_model, d_model, bias=bias)
        self.layers = nn.ModuleDict(layers)
        self.dropout = nn.Dropout(dropout)

    def project(self, name, x):
        y = self.layers[name](x)
        return y.reshape(y.shape[0], self.n, -1, self.d)  # first wrong

    def forward(self, query, key, value, mask=None, return_weights=False):
        q = self.project("query", query)
        k = self.project("key", key)
        v = self.project("value", value)
        q = q / self.d**0.5
        logits = torch.einsum("bnid,bnjd->bnij", q, k)
        if mask is not None:
            bias = mask.type_as(logits)  # also wrong
            logits = logits + bias
        norm = torch.logsumexp(logits, dim=-1)
        probs = torch.exp(logits - norm[..., None])
        used = self.dropout(probs)
        heads = torch.einsum("bnij,bnjd->bind", used, v)
        joined = heads.reshape(query.shape)
        out = self.layers["output"](joined)
        if return_weights:
            return out, probs
        return out
