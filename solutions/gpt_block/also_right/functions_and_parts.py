"""Write each branch as a function, and keep the layers in dicts of modules.

The modules only hold weights, so every line of the computation is in one place. The functions get
their layers by name, so a misspelt name fails only when the line runs.
"""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F


def attend(x, part, num_heads, p, training):
    queries, keys, values = part["qkv_proj"](x).tensor_split(3, dim=-1)
    split = lambda t: t.unflatten(-1, (num_heads, t.shape[-1] // num_heads)).movedim(-2, 1)
    queries, keys, values = split(queries), split(keys), split(values)
    logits = torch.matmul(queries / math.sqrt(queries.shape[-1]), keys.transpose(2, 3))
    length = x.shape[1]
    visible = torch.ones((length, length), device=x.device).tril() > 0
    logits = logits.masked_fill(visible.logical_not(), -1e9)
    shares = torch.exp(logits - logits.logsumexp(-1, keepdim=True))
    mixed = torch.matmul(F.dropout(shares, p, training), values)
    return part["o_proj"](mixed.movedim(1, -2).flatten(-2))


def transform(x, part):
    h = part["fc"](x)
    inner = math.sqrt(2 / math.pi) * (h + 0.044715 * h**3)
    return part["proj"](0.5 * h * (1 + torch.tanh(inner)))


class GPTBlock(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0):
        super().__init__()
        assert d_model % num_heads == 0
        self.num_heads, self.p = num_heads, dropout
        self.ln_1 = nn.LayerNorm(d_model)
        self.attn = nn.ModuleDict(
            {"qkv_proj": nn.Linear(d_model, 3 * d_model), "o_proj": nn.Linear(d_model, d_model)}
        )
        self.ln_2 = nn.LayerNorm(d_model)
        self.mlp = nn.ModuleDict(
            {"fc": nn.Linear(d_model, 4 * d_model), "proj": nn.Linear(4 * d_model, d_model)}
        )

    def forward(self, x):
        a = attend(self.ln_1(x), self.attn, self.num_heads, self.p, self.training)
        x = x + F.dropout(a, self.p, self.training)
        return x + F.dropout(transform(self.ln_2(x), self.mlp), self.p, self.training)
