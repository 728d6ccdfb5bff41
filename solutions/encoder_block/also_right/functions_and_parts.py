"""Write each branch as a function, hide padding as query and as key, and return zeros for padding.

The modules only hold weights, so every line of the computation is in one place. A finite fill gives
the rows of padding some weights instead of NaN, and these rows are wasted work.
"""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F


def attend(x, part, num_heads, p, training, seen):
    split = lambda t: t.unflatten(-1, (num_heads, t.shape[-1] // num_heads)).movedim(-2, 1)
    queries, keys, values = (split(part[name](x)) for name in ("query", "key", "value"))
    logits = torch.matmul(queries / math.sqrt(queries.shape[-1]), keys.transpose(2, 3))
    if seen is not None:
        logits = logits.masked_fill(seen.logical_not(), -1e9)
    shares = torch.exp(logits - logits.logsumexp(-1, keepdim=True))
    mixed = torch.matmul(F.dropout(shares, p, training), values)
    return part["output"](mixed.movedim(1, -2).flatten(-2))


def transform(x, part):
    return part["proj"](torch.relu(part["fc"](x)))


class EncoderBlock(nn.Module):
    def __init__(self, d_model, num_heads, hidden_dim, dropout=0.0):
        super().__init__()
        assert d_model % num_heads == 0
        self.num_heads, self.p = num_heads, dropout
        names = ("query", "key", "value", "output")
        self.self_attn = nn.ModuleDict({name: nn.Linear(d_model, d_model) for name in names})
        self.norm_1 = nn.LayerNorm(d_model)
        self.mlp = nn.ModuleDict(
            {"fc": nn.Linear(d_model, hidden_dim), "proj": nn.Linear(hidden_dim, d_model)}
        )
        self.norm_2 = nn.LayerNorm(d_model)

    def forward(self, x, padding_mask=None):
        seen = None
        if padding_mask is not None:
            seen = (padding_mask[:, :, None] & padding_mask[:, None, :])[:, None]
        found = attend(x, self.self_attn, self.num_heads, self.p, self.training, seen)
        x = self.norm_1(x + F.dropout(found, self.p, self.training))
        x = self.norm_2(x + F.dropout(transform(x, self.mlp), self.p, self.training))
        return x if seen is None else x * padding_mask.unsqueeze(-1)
